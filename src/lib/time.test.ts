import { afterEach, expect, test, vi } from 'vitest'
import { utcNow } from './time.ts'

afterEach(() => vi.restoreAllMocks())

test.each([
  [1_763_164_855_187.153, '2025-11-15T00:00:55.187153Z'],
  [1_763_164_855_000.0002, '2025-11-15T00:00:55.000000Z'],
  [1_763_164_855_999.9998, '2025-11-15T00:00:56.000000Z'],
  [1_763_164_855_007.002, '2025-11-15T00:00:55.007002Z'],
])('the time %f is written with its microseconds', (ms, text) => {
  vi.spyOn(performance, 'now').mockReturnValue(ms - performance.timeOrigin)
  expect(utcNow()).toBe(text)
})
