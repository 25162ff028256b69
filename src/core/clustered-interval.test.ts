import fc from 'fast-check'
import { expect, test } from 'vitest'
import { clusteredInterval, pairedDifference, studentFactor } from './clustered-interval.ts'

const by = (tasks: Record<string, number[]>) => new Map(Object.entries(tasks))

test('more attempts of the same tasks do not make a result surer', () => {
  const once = clusteredInterval(by({ a: [1], b: [0], c: [1], d: [0] }))
  const often = clusteredInterval(by({ a: [1, 1, 1], b: [0, 0, 0], c: [1, 1, 1], d: [0, 0, 0] }))
  expect(often).toMatchObject({ mean: 0.5, tasks: 4, trials: 12 })
  expect(often?.plusMinus).toBeCloseTo(once?.plusMinus ?? 0)
  expect(once?.plusMinus).toBeCloseTo(3.182 * Math.sqrt(1 / 3 / 4))
})

test('a task counts once, however many attempts it had', () => {
  expect(clusteredInterval(by({ a: [1, 1, 1, 1], b: [0] }))?.mean).toBe(0.5)
})

test('one task alone has no interval, and nothing has no mean', () => {
  expect(clusteredInterval(by({ a: [1] }))).toMatchObject({ mean: 1, plusMinus: Number.NaN })
  expect(clusteredInterval(by({}))).toBeNull()
})

test('a difference is taken task by task, on the tasks both have', () => {
  const first = by({ a: [1], b: [1], c: [0.5], only: [1] })
  const second = by({ a: [0.9], b: [0.9], c: [0.4], other: [0] })
  expect(pairedDifference(first, second)).toMatchObject({ tasks: 3 })
  expect(pairedDifference(first, second)?.mean).toBeCloseTo(0.1)
  expect(pairedDifference(first, second)?.plusMinus).toBeCloseTo(0)
  expect(pairedDifference(first, by({ a: [1] }))).toBeNull()
})

test('the interval holds the mean and is as wide on both sides', () => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.constantFrom(0, 1), { minLength: 1 }), { minLength: 2 }), (tasks) => {
      const interval = clusteredInterval(new Map(tasks.map((rewards, i) => [String(i), rewards])))
      expect(interval!.high - interval!.mean).toBeCloseTo(interval!.mean - interval!.low)
      expect(interval!.plusMinus).toBeGreaterThanOrEqual(0)
    }),
  )
})

test.each([
  [1, 12.706],
  [12, 2.179],
  [30, 2.042],
  [88, 1.987],
  [10000, 1.96],
])('the factor for %i degrees of freedom is %f', (freedom, factor) => {
  expect(Math.abs(studentFactor(freedom) - factor)).toBeLessThan(0.002)
})
