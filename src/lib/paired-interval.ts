import { makeRandom } from './random.ts'

/** A difference of means with the interval that 95 of 100 such samples of tasks would put around it. */
export interface PairedDifference {
  readonly mean: number
  readonly low: number
  readonly high: number
  /** Tasks that both sides have a value for. */
  readonly tasks: number
}

const resamples = 2000

/**
 * How much higher one side is than the other on the tasks both were tried on, with a bootstrap interval over tasks: attempts at
 * one task are no independent evidence, so a task counts once, by its mean. Null when they share no task.
 */
export function pairedDifference(
  a: ReadonlyMap<string, readonly number[]>,
  b: ReadonlyMap<string, readonly number[]>,
  seed: number,
): PairedDifference | null {
  const shared = [...a.keys()].filter((task) => (a.get(task)?.length ?? 0) > 0 && (b.get(task)?.length ?? 0) > 0).sort()
  if (shared.length === 0) return null
  const differences = shared.map((task) => mean(a.get(task) ?? []) - mean(b.get(task) ?? []))
  const random = makeRandom(seed, 'paired difference')
  const draws = Array.from({ length: resamples }, () => mean(differences.map(() => random.pick(differences))))
  draws.sort((x, y) => x - y)
  const at = (share: number) => draws[Math.round(share * (resamples - 1))] ?? 0
  return { mean: mean(differences), low: at(0.025), high: at(0.975), tasks: shared.length }
}

/** How far each value is from the mean of all, in standard deviations; 0 for all when they are equal. */
export function zScores(values: readonly number[]): number[] {
  const middle = mean(values)
  const deviation = Math.sqrt(mean(values.map((value) => (value - middle) ** 2)))
  return values.map((value) => (deviation < 1e-12 ? 0 : (value - middle) / deviation))
}

/** Null-free mean; 0 of nothing. */
export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}
