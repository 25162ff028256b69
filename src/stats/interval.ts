import { betaQuantile, normal95, studentQuantile } from './distributions.ts'

/** A mean over tasks with a 95 % interval. */
export interface Interval {
  readonly mean: number
  readonly low: number
  readonly high: number
  /** The task-clustered standard error; null for a single task. When it is 0, the interval still has a width. */
  readonly standardError: number | null
  /** How many independent trials this result is worth: between the number of tasks and the number of trials. */
  readonly effectiveTrials: number
  readonly tasks: number
  readonly trials: number
}

/** Rewards of trials, by task. */
export type RewardsByTask = ReadonlyMap<string, readonly number[]>

/**
 * The mean reward over tasks. Attempts at one task resemble each other, so the spread between tasks decides how many
 * independent trials the result is worth, and a Clopper-Pearson interval for that many follows (Korn and Graubard
 * 1998). It never leaves the range of the rewards, and has a width at 0, at 1 and for one task. Null when there is
 * nothing to average.
 */
export function meanInterval(rewards: RewardsByTask): Interval | null {
  const tasks = [...rewards.values()].filter(({ length }) => length > 0)
  if (tasks.length === 0) return null
  const trials = tasks.reduce((sum, { length }) => sum + length, 0)
  const bounds = { ...rangeOf(tasks.flat()), most: trials, clustering: addOneTask }
  return { ...boundedInterval(tasks.map(mean), bounds), tasks: tasks.length, trials }
}

/**
 * The observed clustering, plus one more task at which all attempts agree. When successes or failures are rare, that
 * task decides, so a job of 0 % and one of 1 % get about the same interval.
 */
function addOneTask(seen: number, rare: number): number {
  return (seen * rare + 1) / (rare + 1)
}

export interface Bounds {
  /** The lowest and the highest possible value. */
  readonly low: number
  readonly high: number
  /** The most independent trials the values can be worth. */
  readonly most: number
  /**
   * The variance of the values as a fraction of the highest that their mean allows: computed from the observed fraction
   * and from how many tasks' worth of the rarer outcome it rests on.
   */
  readonly clustering: (seen: number, rare: number) => number
}

/** The interval for the mean of independent values between two bounds, one value for each task. */
export function boundedInterval(values: readonly number[], { low, high, most, clustering }: Bounds) {
  const width = high - low
  const middle = mean(values)
  const share = Math.min(1, Math.max(0, (middle - low) / width))
  const error = standardError(values)
  const tasks = values.length
  const spread = share * (1 - share)
  const seen = spread === 0 || error === null ? 1 : (tasks * (error / width) ** 2) / spread
  const worth = tasks / clustering(seen, tasks * Math.min(share, 1 - share))
  // The spread is itself an estimate, and a poor one with few tasks: it needs Student's distribution, which is wider
  // than the normal one.
  const doubt = tasks < 2 ? 1 : (normal95 / studentQuantile(0.975, tasks - 1)) ** 2
  const effectiveTrials = Math.max(tasks, Math.min(most, worth * doubt))
  const [from, to] = clopperPearson(share * effectiveTrials, effectiveTrials)
  return {
    mean: middle,
    low: Math.min(middle, low + width * from),
    high: Math.max(middle, low + width * to),
    standardError: error,
    effectiveTrials,
  }
}

/** The Clopper-Pearson interval for `successes` out of `trials`; neither has to be an integer. */
export function clopperPearson(successes: number, trials: number): readonly [low: number, high: number] {
  const failures = trials - successes
  return [
    successes <= 0 ? 0 : betaQuantile(0.025, successes, failures + 1),
    failures <= 0 ? 1 : betaQuantile(0.975, successes + 1, failures),
  ]
}

/** 0 to 1, wider if there are rewards outside. */
export function rangeOf(values: readonly number[]): { readonly low: number; readonly high: number } {
  return values.reduce(({ low, high }, value) => ({ low: Math.min(low, value), high: Math.max(high, value) }), {
    low: 0,
    high: 1,
  })
}

/** The standard error of the mean of independent values; null for one. */
export function standardError(values: readonly number[]): number | null {
  return values.length < 2 ? null : Math.sqrt(variance(values) / values.length)
}

/** The unbiased variance of at least two values. */
export function variance(values: readonly number[]): number {
  const middle = mean(values)
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1)
}

/** The mean of at least one value. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
