import { makeRandom } from '../src/lib/random.ts'
import { betaQuantile } from '../src/stats/distributions.ts'
import type { RewardsByTask } from '../src/stats/interval.ts'

/** Simulates runs over tasks whose success rates have a beta distribution; the same seed gives the same runs. */
export function makeSimulation(seed: number) {
  const { next } = makeRandom(seed, 'simulation')
  return {
    next,
    /** The difficulty of each task, from 0 to 1, shared by runs over the same tasks. */
    tasks: (count: number): number[] => Array.from({ length: count }, () => next()),
    /** Makes this many attempts at each task. */
    run: (tasks: readonly number[], rates: Rates, attempts: number): RewardsByTask =>
      new Map(
        tasks.map((place, i) => {
          const rate = rates[Math.floor(place * rates.length)] ?? 0
          return [`task-${i}`, Array.from({ length: attempts }, () => (next() < rate ? 1 : 0))] as const
        }),
      ),
  }
}

/** The success rates of tasks in ascending order, all equally frequent. */
export type Rates = readonly number[]

/** Rates with this mean, where this share of the variance of rewards lies between tasks. */
export function betaRates(mean: number, clustering: number): Rates {
  const places = Array.from({ length: 500 }, (_, i) => (i + 0.5) / 500)
  if (mean <= 0 || mean >= 1 || clustering === 0) return places.map(() => mean)
  const size = 1 / clustering - 1
  return places.map((place) => betaQuantile(place, mean * size, (1 - mean) * size))
}

/** The correlation of two models' rates on the same tasks, relative to the spread of the first. */
export function correlationOf(first: Rates, second: Rates, spread: number): number {
  const gaps = first.map((rate, i) => rate - (second[i] ?? 0))
  const middle = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
  const variance = gaps.reduce((sum, gap) => sum + (gap - middle) ** 2, 0) / gaps.length
  return 1 - variance / (2 * spread)
}
