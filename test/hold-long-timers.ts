import { onTestFinished, vi } from 'vitest'

/** What counts as a limit that a test decides about, and none that it waits for. */
export const longSec = 7200

/**
 * From now on in this test, timers of an hour and more ring when the test says so, the earliest first; all others run as ever. So a
 * time limit can end when something has happened, and not after a time that some machine finds too short.
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
