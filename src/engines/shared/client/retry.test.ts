import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readRetryAfter, retryWaitMs } from './retry.ts'

const settings = { maxAttempts: 5, minWaitMs: 100, maxWaitMs: 500 }

test('the bound doubles up to its cap, and after the last attempt there is none', () => {
  const longest = [1, 2, 3, 4, 5].map((attempt) => retryWaitMs(attempt, settings, null, () => 1))
  expect(longest).toEqual([100, 200, 400, 500, null])
  expect(retryWaitMs(3, settings, null, () => 0)).toBe(0)
})

test('what the server asks for is waited at least, up to five minutes', () => {
  const second = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.nat(1e7), second, (attempt, retryAfterMs, random) => {
      const wait = retryWaitMs(attempt, settings, retryAfterMs, () => random) ?? Number.NaN
      expect(wait).toBeGreaterThanOrEqual(Math.min(retryAfterMs, 300_000))
      expect(wait).toBeLessThanOrEqual(300_000 + settings.minWaitMs)
    }),
  )
})

test.each([
  [{ 'retry-after': '2' }, 2000],
  [{ 'retry-after': '0.5' }, 500],
  [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
  [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:03 GMT' }, 2000],
  [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0],
  [{ 'retry-after': 'soon' }, null],
  [{ 'retry-after': '' }, null],
  [{}, null],
])('%j is read as %s ms', (headers, expected) => {
  expect(readRetryAfter(headers, 1000)).toBe(expected)
})
