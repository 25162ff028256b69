import { makeRandom } from '../src/lib/random.ts'
import { betaQuantile } from '../src/stats/distributions.ts'
import type { RewardsByTask } from '../src/stats/interval.ts'

/** Runs over tasks whose success rates have a beta distribution; the same for a seed. */
export function makeSimulation(seed: number) {
  const { next } = makeRandom(seed, 'simulation')
  return {
    next,
    /** How hard each task is, from 0 to 1: runs over the same tasks share it. */
    tasks: (count: number): number[] => Array.from({ length: count }, () => next()),
    /** Attempts at each task. */
    run: (tasks: readonly number[], rates: Rates, attempts: number): RewardsByTask =>
      new Map(
        tasks.map((place, i) => {
          const rate = rates[Math.floor(place * rates.length)] ?? 0
          return [`task-${i}`, Array.from({ length: attempts }, () => (next() < rate ? 1 : 0))] as const
        }),
      ),
  }
}

/** Success rates of tasks in ascending order, each as frequent as the next. */
export type Rates = readonly number[]

/** Rates with this mean, of whose rewards this share of the variance lies between tasks. */
export function betaRates(mean: number, clustering: number): Rates {
  const places = Array.from({ length: 500 }, (_, i) => (i + 0.5) / 500)
  if (mean <= 0 || mean >= 1 || clustering === 0) return places.map(() => mean)
  const size = 1 / clustering - 1
  return places.map((place) => betaQuantile(place, mean * size, (1 - mean) * size))
}

/** The correlation of two models' rates at the same tasks, with respect to the spread of the first. */
export function correlationOf(first: Rates, second: Rates, spread: number): number {
  const gaps = first.map((rate, i) => rate - (second[i] ?? 0))
  const middle = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
  const variance = gaps.reduce((sum, gap) => sum + (gap - middle) ** 2, 0) / gaps.length
  return 1 - variance / (2 * spread)
}
