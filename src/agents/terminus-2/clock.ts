import type { AgentAt } from '../../core/agent.ts'

/** The time of one run. */
export interface Clock {
  /** Aborts when the trial is stopped, or a moment before its time is up. */
  readonly signal: AbortSignal
  /** Whether the time was up before anything else stopped the run. */
  readonly isUp: boolean
  stop(): void
}

/** What is kept of the time to write down how it ended. */
const reserveMs = 1000
const reserveShare = 0.05
const maxTimerMs = 2 ** 31 - 1

/** Starts a run's clock. */
export function startClock({ deadline, signal }: Pick<AgentAt, 'deadline' | 'signal'>): Clock {
  const controller = new AbortController()
  let isUp = false
  const pass = () => controller.abort(signal.reason)
  const ring = () => {
    isUp = !signal.aborted
    controller.abort()
  }
  const leftMs = deadline === null ? Number.POSITIVE_INFINITY : deadline.getTime() - Date.now()
  const ringMs = leftMs - Math.min(reserveMs, leftMs * reserveShare)
  const timer = ringMs < maxTimerMs ? setTimeout(ring, Math.max(0, ringMs)) : undefined
  signal.addEventListener('abort', pass, { once: true })
  if (signal.aborted) pass()
  return {
    signal: controller.signal,
    get isUp() {
      return isUp
    },
    stop() {
      clearTimeout(timer)
      signal.removeEventListener('abort', pass)
    },
  }
}
