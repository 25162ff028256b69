import { expect, test, vi } from 'vitest'
import { msUntil } from './deadline.ts'

test('a moment stays where it is when the clock of the machine is set', () => {
  const moment = new Date(Date.now() + 60_000)
  expect(msUntil(moment)).toBeGreaterThan(50_000)
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    for (const hours of [1, -1]) {
      vi.setSystemTime(moment.getTime() + hours * 3_600_000)
      expect(msUntil(moment)).toBeGreaterThan(0)
      expect(msUntil(moment)).toBeLessThanOrEqual(60_000)
    }
  } finally {
    vi.useRealTimers()
  }
  expect(msUntil(new Date(Date.now() - 1000))).toBeLessThan(0)
})
