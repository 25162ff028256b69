import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FirstKeys } from './first-keys.ts'

test('the first row with a key is found, among thousands of keys and keys that share a half', () => {
  const half = fc.oneof(fc.constantFrom(0, 1, 2 ** 32 - 1), fc.integer({ min: 0, max: 2 ** 32 - 1 }))
  fc.assert(
    fc.property(fc.array(fc.tuple(half, half), { maxLength: 5000, size: 'max' }), (keys) => {
      const [first, plain] = [new FirstKeys(), new Map<string, number>()]
      for (const [row, [low, high]] of keys.entries()) {
        const key = `${low} ${high}`
        expect(first.findOrAdd(low, high, row)).toBe(plain.get(key) ?? null)
        if (!plain.has(key)) plain.set(key, row)
      }
    }),
    { numRuns: 20 },
  )
})
