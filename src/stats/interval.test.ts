import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { betaRates, makeSimulation } from '../../test/simulated-runs.ts'
import { clopperPearson, meanInterval } from './interval.ts'

const by = (tasks: Record<string, number[]>) => new Map(Object.entries(tasks))
const alike = (tasks: number, rewards: number[]) => new Map(Array.from({ length: tasks }, (_, i) => [`t${i}`, rewards]))

test.each([
  // Published values and closed forms: for 0 of n it is 1 - 0.025^(1/n).
  [0, 10, 0, 0.3085],
  [10, 10, 0.6915, 1],
  [5, 5, 0.025 ** (1 / 5), 1],
  [15, 148, 0.0578, 0.1617],
])('Clopper and Pearson: %i of %i is %f to %f', (successes, trials, low, high) => {
  const found = clopperPearson(successes, trials)
  expect(found[0]).toBeCloseTo(low, 4)
  expect(found[1]).toBeCloseTo(high, 4)
})

test('all solved is not certain: two tasks prove little, a hundred more', () => {
  expect(meanInterval(alike(2, [1]))).toMatchObject({ mean: 1, standardError: 0, effectiveTrials: 2, high: 1 })
  expect(meanInterval(alike(2, [1]))?.low).toBeCloseTo(0.025 ** (1 / 2))
  expect(meanInterval(alike(100, [1]))?.low).toBeCloseTo(0.025 ** (1 / 100))
  expect(meanInterval(alike(5, [0, 0, 0]))).toMatchObject({ mean: 0, low: 0, tasks: 5, trials: 15 })
  expect(meanInterval(alike(5, [0, 0, 0]))?.high).toBeCloseTo(1 - 0.025 ** (1 / 5))
})

test('more attempts at tasks that always end the same way do not make a result surer', () => {
  const once = meanInterval(by({ a: [1], b: [0], c: [1], d: [0] }))
  const often = meanInterval(by({ a: [1, 1, 1], b: [0, 0, 0], c: [1, 1, 1], d: [0, 0, 0] }))
  expect(often).toMatchObject({ mean: 0.5, tasks: 4, trials: 12, effectiveTrials: 4 })
  expect(often?.low).toBe(once?.low)
  expect(once?.standardError).toBeCloseTo(Math.sqrt(1 / 3 / 4))
})

test('attempts that vary within tasks do, up to the number of trials', () => {
  const mixed = meanInterval(alike(40, [1, 0, 1, 0]))
  expect(mixed).toMatchObject({ mean: 0.5, effectiveTrials: 160 })
})

test('a task counts once, however many attempts it had; one task alone has a wide interval, nothing has none', () => {
  expect(meanInterval(by({ a: [1, 1, 1, 1], b: [0] }))?.mean).toBe(0.5)
  expect(meanInterval(by({ a: [1, 1, 1], b: [] }))).toMatchObject({ mean: 1, standardError: null, tasks: 1, high: 1 })
  expect(meanInterval(by({ a: [1, 1, 1] }))?.low).toBeCloseTo(0.025)
  expect(meanInterval(by({}))).toBeNull()
  expect(meanInterval(by({ a: [] }))).toBeNull()
})

test('rewards beyond 0 and 1 widen the range', () => {
  const found = meanInterval(by({ a: [10], b: [-2], c: [4] }))
  expect(found?.mean).toBe(4)
  expect(found?.low).toBeGreaterThan(-2)
  expect(found?.high).toBeLessThan(10)
})

test('the interval holds the mean, stays within the rewards, and is never a point', () => {
  const reward = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }))
  fc.assert(
    fc.property(fc.array(fc.array(reward, { minLength: 1, maxLength: 5 }), { minLength: 1 }), (tasks) => {
      const found = meanInterval(new Map(tasks.map((rewards, i) => [String(i), rewards])))!
      expect(found.low).toBeGreaterThanOrEqual(0)
      expect(found.high).toBeLessThanOrEqual(1 + 1e-12)
      expect(found.low).toBeLessThanOrEqual(found.mean)
      expect(found.high).toBeGreaterThanOrEqual(found.mean)
      expect(found.high - found.low).toBeGreaterThan(0)
      expect(found.effectiveTrials).toBeGreaterThanOrEqual(found.tasks)
    }),
  )
})

describe('coverage of 95 %', () => {
  const runs = 400
  // The standard deviation of a share of 400 runs at 95 % is 1.1 points, so a rate below 92.5 % is no accident.
  test.each([5, 20, 89])('holds for %i tasks, also at rates of 0 and 1', (tasks) => {
    const simulation = makeSimulation(tasks)
    for (const rate of [0, 0.05, 0.3, 0.9, 1])
      for (const [clustering, attempts] of [
        [0.5, 5],
        [0.9, 3],
      ] as const) {
        const rates = betaRates(rate, clustering)
        let held = 0
        for (let i = 0; i < runs; i++) {
          const found = meanInterval(simulation.run(simulation.tasks(tasks), rates, attempts))!
          if (found.low <= rate && rate <= found.high) held++
        }
        expect(held / runs, `rate ${rate}, clustering ${clustering}, ${attempts} attempts`).toBeGreaterThan(0.925)
        if (rate === 0 || rate === 1) expect(held).toBe(runs)
      }
  })
})
