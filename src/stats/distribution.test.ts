import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DistributionTally, EvenSample } from './distribution.ts'
import { rankCorrelation } from './ranks.ts'

const tallyOf = (values: Iterable<number>) => {
  const tally = new DistributionTally()
  for (const value of values) tally.add(value)
  return tally.read()
}

test('few values have exact quantiles', () => {
  const values = Array.from({ length: 100 }, (_, i) => 99 - i)
  expect(tallyOf(values)).toEqual({
    ...{ count: 100, sum: 4950, mean: 49.5, min: 0, p10: 10, p50: 50, p90: 90, p95: 95, p99: 99, max: 99 },
  })
  expect(tallyOf([])).toBeNull()
  expect(tallyOf([Number.NaN, -1, Number.POSITIVE_INFINITY])).toBeNull()
})

test('quantiles of many values are within 1 %, and the ends are exact', () => {
  const values = Array.from({ length: 50_000 }, (_, i) => (i < 100 ? 0 : i ** 1.7))
  const read = tallyOf(values)
  const exact = values.toSorted((a, b) => a - b)
  for (const [name, share] of [
    ['p10', 0.1],
    ['p50', 0.5],
    ['p90', 0.9],
    ['p99', 0.99],
  ] as const) {
    const wanted = exact[Math.floor(share * values.length)]!
    expect(Math.abs(read![name] - wanted) / wanted).toBeLessThan(0.0101)
  }
  expect([read?.min, read?.max, read?.count]).toEqual([0, exact.at(-1), 50_000])
})

test('a sample is bounded, ordered and spread over everything', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 0, max: 5000 }), (limit, count) => {
      const sample = new EvenSample<number>(limit)
      for (let i = 0; i < count; i++) sample.add(i)
      const kept = sample.read()
      expect(kept.length).toBeLessThanOrEqual(limit)
      expect(kept.length).toBeGreaterThanOrEqual(Math.min(count, Math.floor(limit / 2)))
      const steps = kept.slice(1).map((value, i) => value - (kept[i] ?? 0))
      expect(new Set(steps).size).toBeLessThanOrEqual(1)
    }),
  )
})

test('rank correlations equal values computed by hand, with ties', () => {
  const pairs = (a: number[], b: number[]) => a.map((x, i) => [x, b[i]!] as const)
  expect(rankCorrelation(pairs([1, 2, 3, 4, 5], [10, 20, 30, 40, 50]))).toBe(1)
  expect(rankCorrelation(pairs([1, 2, 3, 4, 5], [5, 4, 3, 2, 1]))).toBe(-1)
  // 1 - 6 * 8 / (5 * 24) for ranks that differ by 1, 1, 1, 1 and 2.
  expect(rankCorrelation(pairs([1, 2, 3, 4, 5], [2, 1, 4, 5, 3]))).toBeCloseTo(0.6, 12)
  // Ranks 1.5 1.5 3 4 5 against 1 2 3.5 3.5 5.
  expect(rankCorrelation(pairs([1, 1, 2, 3, 4], [1, 2, 3, 3, 4]))).toBeCloseTo(9 / 9.5, 12)
  expect(rankCorrelation(pairs([1, 1, 1, 1, 1], [1, 2, 3, 4, 5]))).toBeNull()
  expect(rankCorrelation(pairs([1, 2], [1, 2]))).toBeNull()
})
