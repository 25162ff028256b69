import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { interruptSignal } from './interrupt.ts'

const exit = vi.spyOn(process, 'exit')

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
  exit.mockReset().mockImplementation((): never => undefined as never)
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
})
afterEach(() => void vi.useRealTimers())

test.each([
  ['Ctrl-C twice ends at once', ['SIGINT', 'SIGINT'], 0, 1],
  ['a SIGTERM that is passed on after one to all is the same wish', ['SIGTERM', 'SIGTERM'], 1, 0],
  ['a SIGTERM that is passed on after Ctrl-C is the same wish', ['SIGINT', 'SIGTERM'], 1, 0],
  ['a later SIGTERM ends at once', ['SIGTERM', 'SIGTERM'], 10, 1],
] as const)('%s', (_, signals, secondsBetween, exits) => {
  const { signal, stop } = interruptSignal()
  try {
    process.emit(signals[0], signals[0])
    expect(signal.aborted).toBe(true)
    vi.setSystemTime(Date.now() + secondsBetween * 1000)
    process.emit(signals[1], signals[1])
    expect(exit.mock.calls).toEqual(Array.from({ length: exits }, () => [130]))
  } finally {
    stop()
  }
})
