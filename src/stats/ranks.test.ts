import { expect, test } from 'vitest'
import { meanZScores, ranksWithTies, zScores } from './ranks.ts'

test('what cannot be told apart shares a rank, and the next rank counts all before it', () => {
  const scores = [70, 52, 50, 20]
  const beats = (a: number, b: number) => (scores[a] ?? 0) - (scores[b] ?? 0) > 10
  expect(ranksWithTies(4, beats)).toEqual([1, 2, 2, 4])
  expect(ranksWithTies(3, () => false)).toEqual([1, 1, 1])
})

test('z-scores have mean 0 and deviation 1; equal values are all 0', () => {
  expect(zScores([2, 4, 4, 4, 5, 5, 7, 9])).toEqual([-1.5, -0.5, -0.5, -0.5, 0, 0, 1, 2])
  expect(zScores([3, 3])).toEqual([0, 0])
  expect(zScores([])).toEqual([])
})

test('the mean z-score may choose another candidate than the mean', () => {
  // The second is best on average, the first by z-score, because the benchmarks have different spreads.
  const scores = [
    [30, 12],
    [50, 10],
    [40, 8],
  ]
  const [first = 0, second = 0] = meanZScores(scores) as number[]
  expect(second).toBeGreaterThan(0)
  expect(first).toBeCloseTo((-Math.sqrt(1.5) + Math.sqrt(1.5)) / 2)
  expect(
    meanZScores([
      [50, 10, 10],
      [10, 14, 14],
      [30, 12, 12],
    ]).map((z) => z?.toFixed(3)),
  ).toEqual(['-0.408', '0.408', '0.000'])
})

test('a candidate that lacks a benchmark has no mean and changes no other', () => {
  const pair = [
    [1, 2],
    [3, 1],
  ]
  expect(meanZScores([...pair, [9, null]])).toEqual([...meanZScores(pair), null])
})
