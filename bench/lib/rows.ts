/** One line of a bench's table. */
export interface Row {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly goal?: string
  readonly ok?: boolean
}

/** The value below which this share of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}
