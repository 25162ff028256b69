/** A mean with an interval that holds the true one in 95 of 100 repetitions. */
export interface Interval {
  readonly mean: number
  readonly low: number
  readonly high: number
  /** Half the width of the interval. */
  readonly plusMinus: number
  readonly tasks: number
  readonly trials: number
}

/** Rewards of trials by the task they are of. */
export type RewardsByTask = ReadonlyMap<string, readonly number[]>

/**
 * The mean reward over tasks, with an interval from the spread between tasks: attempts of one task say the same thing over again,
 * and must not make a result look surer than it is. Null when there is nothing to average.
 */
export function clusteredInterval(rewards: RewardsByTask): Interval | null {
  const means = [...rewards.values()].filter(({ length }) => length > 0).map(mean)
  if (means.length === 0) return null
  const trials = [...rewards.values()].reduce((sum, { length }) => sum + length, 0)
  const middle = mean(means)
  const error = standardError(means, middle)
  const plusMinus = error === null ? Number.NaN : studentFactor(means.length - 1) * error
  return {
    mean: middle,
    low: middle - plusMinus,
    high: middle + plusMinus,
    plusMinus,
    tasks: means.length,
    trials,
  }
}

/** The difference of two runs on the tasks both have, task by task, with its interval; null when they share fewer than two. */
export function pairedDifference(first: RewardsByTask, second: RewardsByTask): Interval | null {
  const shared = [...first.keys()].filter((task) => (second.get(task)?.length ?? 0) > 0)
  if (shared.length < 2) return null
  const differences = new Map(
    shared.map((task) => [task, [mean(first.get(task) ?? []) - mean(second.get(task) ?? [])]]),
  )
  return clusteredInterval(differences)
}

/** The mean of at least one value. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function standardError(values: readonly number[], middle: number): number | null {
  if (values.length < 2) return null
  const squares = values.reduce((sum, value) => sum + (value - middle) ** 2, 0)
  return Math.sqrt(squares / (values.length - 1) / values.length)
}

/** The two-sided 95 % point of Student's distribution: exact for few degrees of freedom, then by its expansion in 1/n. */
export function studentFactor(freedom: number): number {
  const few = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]
  const known = few[freedom - 1]
  if (known !== undefined) return known
  const z = 1.959964
  return z + (z ** 3 + z) / (4 * freedom) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2)
}
