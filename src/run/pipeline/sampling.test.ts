import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stratifiedSample, subsample, upsample } from './sampling.ts'

test('samples have the size that was asked for, and depend on the seed alone', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat()), fc.nat(40), fc.nat(), (items, count, seed) => {
      const some = subsample(items, count, seed)
      expect(some).toHaveLength(Math.min(count, items.length))
      expect(subsample(items, count, seed)).toEqual(some)
      const strata = stratifiedSample(items, count, (item) => String(item % 3), seed)
      expect(strata).toHaveLength(Math.min(count, items.length))
      for (const group of [0, 1, 2]) {
        const share = (items.filter((item) => item % 3 === group).length * strata.length) / (items.length || 1)
        expect(Math.abs(strata.filter((item) => item % 3 === group).length - share)).toBeLessThan(1)
      }
      if (items.length === 0) return
      const more = upsample(items, count, seed)
      expect(more).toHaveLength(count)
      const often = items.map((item) => more.filter((one) => one.item === item).length)
      expect(Math.max(...often) - Math.min(...often)).toBeLessThanOrEqual(1)
    }),
  )
  expect(() => upsample([], 3, 1)).toThrow('expected something to repeat')
})
