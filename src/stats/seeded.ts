import { normal95, studentCdf, studentQuantile } from './distributions.ts'
import { type Interval, mean, type RewardsByTask, rangeOf, standardError } from './interval.ts'
import type { Next } from './sign-flip.ts'
import { comparePaired, type Verdict, verdictOf } from './verdict.ts'

/** Results of one seed: rewards by task. */
export interface SeedResult {
  readonly seed: number
  readonly rewards: RewardsByTask
}

export interface SeededComparison {
  /**
   * First minus second over the seeds both have; its interval holds for other tasks and, given at least two seeds, for
   * other seeds.
   */
  readonly difference: Interval
  readonly p: number
  readonly verdict: Verdict
  /** The difference for each seed that both have. */
  readonly seeds: readonly { readonly seed: number; readonly difference: number }[]
  /** The standard error over seeds; null with one seed, which says nothing about others. */
  readonly seedError: number | null
}

/**
 * Compares two results with several seeds each, paired by task and seed. The spread between tasks gives one interval,
 * as in any comparison, and the spread between seeds another; the squares of their half-widths add up (Zou and Donner
 * 2008). The noise of single attempts is in both, so the result is conservative. Null when they have no seed or no task
 * in common.
 */
export function compareSeeded(
  first: readonly SeedResult[],
  second: readonly SeedResult[],
  next: Next,
): SeededComparison | null {
  const pairs = first.flatMap(({ seed, rewards }) => {
    const other = second.find((each) => each.seed === seed)
    return other === undefined ? [] : [{ seed, differences: taskDifferences(rewards, other.rewards) }]
  })
  const known = pairs.filter(({ differences }) => differences.size > 0)
  const common = (all: readonly SeedResult[]) => all.filter(({ seed }) => known.some((pair) => pair.seed === seed))
  const all = { first: pooled(common(first)), second: pooled(common(second)) }
  const byTask = comparePaired(all.first, all.second, next)
  if (byTask === null) return null
  const seeds = known.map(({ seed, differences }) => ({ seed, difference: mean([...differences.values()]) }))
  const seedError = standardError(seeds.map(({ difference }) => difference))
  if (seedError === null || seedError === 0) {
    const { difference, p, verdict } = byTask
    return { difference, p, verdict, seeds, seedError }
  }
  const half = seedError * studentQuantile(0.975, seeds.length - 1)
  const { low, high } = rangeOf([...all.first.values(), ...all.second.values()].flat())
  const difference = widened(byTask.difference, half, high - low)
  const p = Math.max(byTask.p, studentP(byTask.difference, seedError, seeds.length))
  return { difference, p, verdict: verdictOf(difference, p), seeds, seedError }
}

function taskDifferences(first: RewardsByTask, second: RewardsByTask): ReadonlyMap<string, number> {
  const differences = new Map<string, number>()
  for (const [task, rewards] of first) {
    const others = second.get(task) ?? []
    if (rewards.length > 0 && others.length > 0) differences.set(task, mean(rewards) - mean(others))
  }
  return differences
}

/** The rewards of all seeds, by task. */
export function pooled(results: readonly SeedResult[]): RewardsByTask {
  const all = new Map<string, number[]>()
  for (const { rewards } of results)
    for (const [task, values] of rewards) all.set(task, [...(all.get(task) ?? []), ...values])
  return all
}

function widened(interval: Interval, half: number, most: number): Interval {
  const { mean: middle, low, high } = interval
  return {
    ...interval,
    low: Math.max(-most, middle - Math.hypot(middle - low, half)),
    high: Math.min(most, middle + Math.hypot(high - middle, half)),
  }
}

/** The p-value of Student's test with Satterthwaite's degrees of freedom. */
function studentP({ mean: middle, low, high, tasks }: Interval, seedError: number, seeds: number): number {
  const taskError = (high - low) / 2 / (tasks < 2 ? normal95 : studentQuantile(0.975, tasks - 1))
  const [ofTasks, ofSeeds] = [taskError ** 2, seedError ** 2]
  const freedom = (ofTasks + ofSeeds) ** 2 / (ofTasks ** 2 / Math.max(1, tasks - 1) + ofSeeds ** 2 / (seeds - 1))
  return 2 * studentCdf(-Math.abs(middle) / Math.sqrt(ofTasks + ofSeeds), freedom)
}
