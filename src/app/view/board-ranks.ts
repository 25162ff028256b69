import { setImmediate } from 'node:timers/promises'
import { makeRandom } from '../../lib/random.ts'
import type { TaskMeans } from '../../registry/board.ts'
import { holm } from '../../stats/corrections.ts'
import { type Interval, meanInterval, type RewardsByTask } from '../../stats/interval.ts'
import { pairedDifference } from '../../stats/paired.ts'
import { ranksWithTies } from '../../stats/ranks.ts'
import { comparePaired, verdictOf } from '../../stats/verdict.ts'

/** More runs of one benchmark are not compared with each other: their number of pairs grows with its square. */
export const mostRanked = 60

/** Rewards by task as the statistics take them. Attempts at a task only matter by their mean and their number. */
export function rewardsOf(means: TaskMeans): RewardsByTask {
  return new Map([...means].map(([task, { mean, trials }]) => [task, new Array<number>(trials).fill(mean)]))
}

/** The interval of a run; by its standard error where the registry has no trials of it. */
export function intervalOf(means: TaskMeans | undefined, accuracy: number, standardError: number | null) {
  const found: Pick<Interval, 'low' | 'high'> | null = means === undefined ? null : meanInterval(rewardsOf(means))
  if (found) return { low: found.low, high: found.high }
  const half = standardError === null ? 1 : 1.96 * standardError
  return {
    low: Math.max(Math.min(0, accuracy), accuracy - half),
    high: Math.min(Math.max(1, accuracy), accuracy + half),
  }
}

/**
 * Ranks of runs on one benchmark. Every two are compared task by task, corrected for the number of pairs (Holm); those that cannot be told
 * apart share a rank. Gives way to other work between the tests.
 */
export async function rankRuns(runs: readonly TaskMeans[]): Promise<number[]> {
  const rewards = runs.map(rewardsOf)
  const pairs: { first: number; second: number; difference: Interval | null; p: number }[] = []
  for (const [first, one] of rewards.entries()) {
    for (const [second, other] of rewards.entries()) {
      if (second <= first) continue
      const difference = pairedDifference(one, other)
      // A difference whose interval holds 0 stays undecided whatever the test says.
      const isOpen = difference === null || (difference.low <= 0 && difference.high >= 0)
      const p = isOpen ? 1 : (comparePaired(one, other, makeRandom(1, 'eval compare').next)?.p ?? 1)
      pairs.push({ first, second, difference, p })
    }
    await setImmediate()
  }
  const adjusted = holm(pairs.map(({ p }) => p))
  const better = new Set<string>()
  for (const [i, { first, second, difference }] of pairs.entries()) {
    const verdict = difference === null ? 'undecided' : verdictOf(difference, adjusted[i] ?? 1)
    if (verdict === 'first') better.add(`${first} ${second}`)
    if (verdict === 'second') better.add(`${second} ${first}`)
  }
  return ranksWithTies(runs.length, (a, b) => better.has(`${a} ${b}`))
}
