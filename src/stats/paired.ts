import { boundedInterval, type Interval, mean, type RewardsByTask, rangeOf } from './interval.ts'

/** The rewards of two runs on a task that both have. */
export interface TaskPair {
  readonly task: string
  readonly first: number
  readonly second: number
}

/** The mean rewards on every task that both runs scored. */
export function pairsOf(first: RewardsByTask, second: RewardsByTask): TaskPair[] {
  return [...first].flatMap(([task, rewards]) => {
    const others = second.get(task) ?? []
    return rewards.length === 0 || others.length === 0 ? [] : [{ task, first: mean(rewards), second: mean(others) }]
  })
}

/**
 * The difference between two runs, first minus second, task by task. Two runs that agree everywhere may still differ on
 * other tasks: the interval is then as wide as the rule of three says, about ±3 divided by the number of tasks. Null
 * without a common task.
 */
export function pairedDifference(first: RewardsByTask, second: RewardsByTask): Interval | null {
  const pairs = pairsOf(first, second)
  if (pairs.length === 0) return null
  const shared = pairs.flatMap(({ task }) => [...(first.get(task) ?? []), ...(second.get(task) ?? [])])
  const { low, high } = rangeOf(shared)
  const differences = pairs.map((pair) => pair.first - pair.second)
  const bounds = { low: low - high, high: high - low, most: Number.POSITIVE_INFINITY, clustering: atLeastOneTask }
  return { ...boundedInterval(differences, bounds), tasks: pairs.length, trials: shared.length }
}

/** The observed spread, but at least that of a single task on which the two differ as much as possible. */
function atLeastOneTask(seen: number, rare: number): number {
  return Math.max(seen, 1 / (rare + 1))
}
