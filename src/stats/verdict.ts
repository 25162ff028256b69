import type { Interval, RewardsByTask } from './interval.ts'
import { pairedDifference, pairsOf, type TaskPair } from './paired.ts'
import { type Next, signFlipTest } from './sign-flip.ts'

/** Which of two runs is better, or that this is undecided. */
export type Verdict = 'first' | 'second' | 'undecided'

export interface PairedComparison {
  /** First minus second. */
  readonly difference: Interval
  readonly pairs: readonly TaskPair[]
  readonly p: number
  /** True when the p-value is exact, not from a sample of sign patterns. */
  readonly exact: boolean
  readonly verdict: Verdict
}

/** The level of every test. */
const level = 0.05

/** Compares two runs on the tasks both have; null when there are none. */
export function comparePaired(first: RewardsByTask, second: RewardsByTask, next: Next): PairedComparison | null {
  const difference = pairedDifference(first, second)
  if (difference === null) return null
  const pairs = pairsOf(first, second)
  const { p, exact } = signFlipTest(
    pairs.map((pair) => pair.first - pair.second),
    next,
  )
  return { difference, pairs, p, exact, verdict: verdictOf(difference, p) }
}

/** A difference is decided when its interval excludes 0 and the test agrees; `p` may be a corrected p-value. */
export function verdictOf({ low, high, mean }: Interval, p: number): Verdict {
  const isWithinNoise = p > level || (low <= 0 && high >= 0)
  if (isWithinNoise) return 'undecided'
  return mean > 0 ? 'first' : 'second'
}
