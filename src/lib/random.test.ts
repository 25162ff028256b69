import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeRandom } from './random.ts'

test('a seed and a key always give the same stream, and this very one', () => {
  const stream = makeRandom(42, 'row-1')
  expect([stream.below(1000), stream.below(1000), stream.below(1000)]).toEqual([610, 597, 268])
})

test('another seed or another key is another stream', () => {
  const first = (seed: number, key: string) => makeRandom(seed, key).next()
  expect(new Set([first(1, 'a'), first(2, 'a'), first(1, 'b'), first(12, ''), first(1, '2')]).size).toBe(5)
})

test('numbers are spread evenly', () => {
  const random = makeRandom(7, 'even')
  const counts = new Array<number>(10).fill(0)
  for (let i = 0; i < 20_000; i++) counts[random.below(10)]!++
  expect(Math.min(...counts)).toBeGreaterThan(1800)
  expect(Math.max(...counts)).toBeLessThan(2200)
})

test('shuffling keeps every item, sampling keeps the order and takes none twice', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.nat(20), fc.integer(), (items, count, seed) => {
      const tagged = items.map((item, index) => ({ item, index }))
      const mixed = makeRandom(seed, 'x').shuffle(tagged)
      expect([...mixed].sort((a, b) => a.index - b.index)).toEqual(tagged)
      const some = makeRandom(seed, 'x').sample(tagged, count)
      expect(some).toHaveLength(Math.min(count, items.length))
      expect(some.every(({ index }, i) => i === 0 || index > some[i - 1]!.index)).toBe(true)
    }),
  )
})

test('nothing can be picked from an empty list', () => {
  expect(() => makeRandom(1, '').pick([])).toThrow('nothing to pick from')
})
