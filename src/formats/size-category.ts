const steps: readonly (readonly [below: number, category: string])[] = [
  [1e3, 'n<1K'],
  [1e4, '1K<n<10K'],
  [1e5, '10K<n<100K'],
  [1e6, '100K<n<1M'],
  [1e7, '1M<n<10M'],
]

/** The Hub's size category for a dataset of this many rows. */
export function sizeCategory(rows: number): string {
  return steps.find(([below]) => rows < below)?.[1] ?? '10M<n<100M'
}
