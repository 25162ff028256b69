import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pairedDifference, zScores } from './paired-interval.ts'

const tries = (values: Record<string, number[]>) => new Map(Object.entries(values))

test('a difference is paired by task: what only one side tried does not count', () => {
  const a = tries({ x: [1, 1], y: [0], z: [1] })
  const b = tries({ x: [0], y: [0, 1], w: [1] })
  expect(pairedDifference(a, b, 1)).toMatchObject({ mean: 0.25, tasks: 2 })
  expect(pairedDifference(a, tries({ w: [1] }), 1)).toBeNull()
})

test('equal sides differ by exactly nothing', () => {
  const a = tries({ x: [1, 0], y: [0], z: [1] })
  expect(pairedDifference(a, a, 1)).toEqual({ mean: 0, low: 0, high: 0, tasks: 3 })
})

test('the interval holds the mean, turns with the sides, and is the same for the same seed', () => {
  const sides = fc.array(fc.tuple(fc.integer({ min: 0, max: 1 }), fc.integer({ min: 0, max: 1 })), {
    minLength: 2,
    maxLength: 30,
  })
  fc.assert(
    fc.property(sides, fc.nat(99), (pairs, seed) => {
      const [a, b] = [0, 1].map((side) => new Map(pairs.map((pair, i) => [`t${i}`, [pair[side] ?? 0]])))
      const found = pairedDifference(a!, b!, seed)!
      expect(found.low).toBeLessThanOrEqual(found.mean + 1e-9)
      expect(found.high).toBeGreaterThanOrEqual(found.mean - 1e-9)
      expect(pairedDifference(a!, b!, seed)).toEqual(found)
      expect(pairedDifference(b!, a!, seed)?.mean).toBeCloseTo(-found.mean)
    }),
    { numRuns: 20 },
  )
})

test('z-scores are distances from the mean in deviations, and 0 where nothing differs', () => {
  expect(zScores([1, 2, 3]).map((z) => Number(z.toFixed(3)))).toEqual([-1.225, 0, 1.225])
  expect(zScores([5, 5])).toEqual([0, 0])
  expect(zScores([])).toEqual([])
})
