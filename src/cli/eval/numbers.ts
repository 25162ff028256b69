import type { Interval } from '../../app/evaluate.ts'

/** `44.8 %`. */
export function percent(value: number | null): string {
  return value === null ? '-' : `${(value * 100).toFixed(1)} %`
}

/** `44.8 % (34.1 to 55.9)`: the mean and its 95 % interval. */
export function percentInterval(interval: Interval | null): string {
  if (interval === null) return '-'
  const { mean, low, high } = interval
  return `${percent(mean)} (${(low * 100).toFixed(1)} to ${(high * 100).toFixed(1)})`
}

/** A difference in percentage points with its sign: `+6.1`. */
export function points(value: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value * 100).toFixed(1)}`
}
