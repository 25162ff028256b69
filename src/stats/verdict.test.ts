import { describe, expect, test } from 'vitest'
import { betaRates, correlationOf, makeSimulation, type Rates } from '../../test/simulated-runs.ts'
import { makeRandom } from '../lib/random.ts'
import { mean } from './interval.ts'
import { pairedDifference } from './paired.ts'
import { powerOf } from './power.ts'
import { comparePaired, verdictOf } from './verdict.ts'

const by = (tasks: Record<string, number[]>) => new Map(Object.entries(tasks))
const alike = (tasks: number, rewards: number[]) => new Map(Array.from({ length: tasks }, (_, i) => [`t${i}`, rewards]))
const { next } = makeRandom(1, 'verdict')

test('a difference is taken task by task on the tasks both have, and every trial is counted', () => {
  const first = by({ a: [1, 1], b: [1, 0], c: [0, 0], only: [1] })
  const second = by({ a: [1, 0], b: [0, 0], c: [0, 0], other: [0], empty: [] })
  const found = pairedDifference(first, second)
  expect(found).toMatchObject({ tasks: 3, trials: 12 })
  expect(found?.mean).toBeCloseTo(1 / 3)
  expect(found?.standardError).toBeCloseTo(1 / 6)
  expect(pairedDifference(first, by({ other: [1] }))).toBeNull()
})

test('runs that agree everywhere may differ by about 3 in as many tasks as there are', () => {
  const found = pairedDifference(alike(100, [1]), alike(100, [1]))
  expect(found).toMatchObject({ mean: 0, standardError: 0 })
  expect(found?.high).toBeCloseTo(0.03, 2)
  expect(found?.low).toBeCloseTo(-0.03, 2)
})

test('a total difference at two tasks proves nothing; at eight it does', () => {
  const few = comparePaired(alike(2, [0]), alike(2, [1]), next)
  expect(few).toMatchObject({ difference: { mean: -1, low: -1 }, p: 0.5, verdict: 'undecided' })
  expect(few?.difference.high).toBeGreaterThan(0)
  expect(comparePaired(alike(8, [0]), alike(8, [1]), next)?.verdict).toBe('second')
  expect(comparePaired(alike(8, [1]), alike(8, [0]), next)?.verdict).toBe('first')
})

test('interval and test have to agree', () => {
  const found = pairedDifference(alike(50, [1]), alike(50, [0]))!
  expect(verdictOf(found, 0.01)).toBe('first')
  expect(verdictOf(found, 0.06)).toBe('undecided')
  expect(verdictOf({ ...found, low: -0.1 }, 0.01)).toBe('undecided')
})

describe('by simulation', () => {
  const runs = 400
  /**
   * How often the first of two models is distinguished from the second, and how often the interval covers the truth.
   */
  function simulate(tasks: number, attempts: number, better: Rates, worse: Rates) {
    const simulation = makeSimulation(tasks * 10 + attempts)
    const truth = mean(better) - mean(worse)
    let [told, held] = [0, 0]
    for (let i = 0; i < runs; i++) {
      const drawn = simulation.tasks(tasks)
      const pair = [simulation.run(drawn, better, attempts), simulation.run(drawn, worse, attempts)] as const
      const { difference, verdict } = comparePaired(...pair, simulation.next)!
      if (verdict !== 'undecided') told++
      if (difference.low <= truth && truth <= difference.high) held++
    }
    return { told: told / runs, held: held / runs }
  }

  test.each([
    [5, 3, 0.5],
    [20, 1, 0.3],
    [89, 3, 0.3],
    [89, 5, 0.05],
  ])('two runs of one model at %i tasks, %i attempts, a rate of %f are rarely told apart', (tasks, attempts, rate) => {
    const rates = betaRates(rate, 0.6)
    // 5 % of 400 runs, plus two standard deviations.
    expect(simulate(tasks, attempts, rates, rates).told).toBeLessThanOrEqual(0.072)
  })

  test.each([
    [60, 1, 0.5, 0.25, 0.2],
    [89, 3, 0.4, 0.09, 0.5],
    [250, 2, 0.3, 0.055, 0.6],
  ])('%i tasks, %i attempts, a rate of %f: an effect of %f is detected as often as predicted', (...given) => {
    const [tasks, attempts, rate, effect, clustering] = given
    const [better, worse] = [betaRates(rate + effect, clustering), betaRates(rate, clustering)]
    const middle = rate + effect / 2
    const correlation = correlationOf(better, worse, middle * (1 - middle) * clustering)
    const predicted = powerOf(effect, { rate: middle, clustering, correlation, tasks, attempts })
    const { told, held } = simulate(tasks, attempts, better, worse)
    expect(predicted).toBeGreaterThan(0.6)
    expect(predicted).toBeLessThan(0.95)
    expect(Math.abs(told - predicted), `told ${told}, predicted ${predicted}`).toBeLessThan(0.07)
    expect(held).toBeGreaterThan(0.925)
  })
})
