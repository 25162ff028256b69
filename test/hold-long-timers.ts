import { onTestFinished, vi } from 'vitest'

/** Longer than any test: a limit this long ends only when the test says so. */
export const longSec = 7200

/**
 * For the rest of this test, timers of an hour or more fire only when the test says so, earliest first; all others run
 * normally. A time limit can then end at a defined point instead of after a delay that is too short on some machines.
 */
export function holdLongTimers(): () => void {
  const { setTimeout, clearTimeout } = globalThis
  const held = new Map<unknown, { readonly ms: number; ring(): void }>()
  vi.stubGlobal('setTimeout', (ring: () => void, ms = 0, ...rest: []) => {
    const timer = setTimeout(ring, ms, ...rest)
    if (ms >= 3_600_000) held.set(timer, { ms, ring })
    return timer
  })
  vi.stubGlobal('clearTimeout', (timer: NodeJS.Timeout | undefined) => {
    held.delete(timer)
    clearTimeout(timer)
  })
  onTestFinished(() => void vi.unstubAllGlobals())
  return () => {
    const [first] = [...held].sort(([, a], [, b]) => a.ms - b.ms)
    if (!first) throw new Error('nothing waits for the end of a long time')
    const [timer, { ring }] = first
    held.delete(timer)
    clearTimeout(timer as NodeJS.Timeout)
    ring()
  }
}
