import { expect, test } from 'vitest'
import { makeRandom } from '../lib/random.ts'
import { pairedDifference } from './paired.ts'
import { compareSeeded, pooled, type SeedResult } from './seeded.ts'

const next = () => makeRandom(1, 'test').next

test('with one seed it is the comparison by task, and says that nothing is known about other seeds', () => {
  const [first, second] = [
    new Map([
      ['a', [1]],
      ['b', [1]],
      ['c', [0]],
    ]),
    new Map([
      ['a', [0]],
      ['b', [1]],
      ['c', [0]],
    ]),
  ] as const
  const found = compareSeeded([{ seed: 1, rewards: first }], [{ seed: 1, rewards: second }], next())
  expect(found?.difference).toEqual(pairedDifference(first, second))
  expect(found?.seedError).toBeNull()
})

test('seeds that only one of the two has are left out', () => {
  const result = (seed: number, value: number): SeedResult => ({ seed, rewards: new Map([['a', [value]]]) })
  const found = compareSeeded([result(1, 1), result(2, 0)], [result(1, 0), result(3, 1)], next())
  expect(found?.seeds).toEqual([{ seed: 1, difference: 1 }])
  expect(compareSeeded([result(1, 1)], [result(2, 1)], next())).toBeNull()
})

test('seeds that disagree widen the interval, by hand', () => {
  const tasks = Array.from({ length: 20 }, (_, i) => `t${i}`)
  const run = (seed: number, solved: number) => ({
    seed,
    rewards: new Map(tasks.map((task, i) => [task, [i < solved ? 1 : 0]] as const)),
  })
  const [first, second] = [
    [run(1, 18), run(2, 10)],
    [run(1, 8), run(2, 8)],
  ]
  const found = compareSeeded(first, second, next())
  const byTask = pairedDifference(pooled(first), pooled(second))
  // Differences of 0.5 and 0.1: a standard error of 0.2, and a t of 12.706 with one degree of freedom.
  expect(found?.difference.mean).toBeCloseTo(0.3)
  expect(found?.seedError).toBeCloseTo(0.2)
  expect(byTask?.low).toBeGreaterThan(0)
  expect(found?.difference.low).toBe(-1)
  expect(found?.difference.high).toBe(1)
  expect(found?.verdict).toBe('undecided')
})

test('two recipes of the same worth are told apart in at most 5 % of the cases, however much their seeds spread', () => {
  for (const [seeds, spread] of [
    [3, 0],
    [3, 0.08],
    [5, 0.05],
  ] as const) {
    const { next: draw } = makeRandom(seeds, `spread ${spread}`)
    let decided = 0
    for (let i = 0; i < 200; i++) {
      const rates = Array.from({ length: 60 }, draw)
      const results = () =>
        Array.from({ length: seeds }, (_, seed): SeedResult => {
          const shift = spread * (draw() + draw() + draw() + draw() - 2) * Math.sqrt(3)
          return { seed, rewards: new Map(rates.map((rate, t) => [`t${t}`, [draw() < rate + shift ? 1 : 0]])) }
        })
      if (compareSeeded(results(), results(), draw)?.verdict !== 'undecided') decided++
    }
    expect(decided).toBeLessThanOrEqual(10)
  }
})
