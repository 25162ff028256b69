import { sleep } from '../../../lib/deadline.ts'

export interface RateLimit {
  /**
   * Waits until one request of about this many tokens may be sent; returns a function that reports the actual number.
   */
  take(tokens: () => number, signal: AbortSignal): Promise<(used: number) => void>
  /** Sends no request for this long, because the server asked for it. */
  pause(ms: number): void
}

/** The share of a minute's allowance that may be used at once. */
const burstMinutes = 1 / 6

/** Limits requests and tokens per minute across all callers; null means no limit. */
export function makeRateLimit(
  rpm: number | null,
  tpm: number | null,
  now: () => number = () => performance.now(),
  wait: (ms: number, signal: AbortSignal) => Promise<void> = sleep,
): RateLimit {
  const requests = rpm === null ? null : makeBucket(rpm, now)
  const tokens = tpm === null ? null : makeBucket(tpm, now)
  let pausedUntil = 0
  return {
    async take(guess, signal) {
      const count = tokens ? guess() : 0
      const waitMs = Math.max(requests?.take(1) ?? 0, tokens?.take(count) ?? 0)
      try {
        if (waitMs > 0) await wait(waitMs, signal)
        // A pause may be extended while a caller waits for its end.
        for (let rest = pausedUntil - now(); rest > 0; rest = pausedUntil - now()) await wait(rest, signal)
      } catch (error) {
        requests?.refund(1)
        tokens?.refund(count)
        throw error
      }
      return (used) => tokens?.refund(count - used)
    },
    pause(ms) {
      pausedUntil = Math.max(pausedUntil, now() + ms)
    },
  }
}

/** A bucket that fills steadily. Taking more than it holds creates a debt, and the caller waits until it is paid. */
function makeBucket(perMinute: number, now: () => number) {
  const perMs = perMinute / 60_000
  const capacity = Math.max(1, perMinute * burstMinutes)
  let level = capacity
  let at = now()
  const fill = () => {
    level = Math.min(capacity, level + (now() - at) * perMs)
    at = now()
  }
  return {
    take(amount: number): number {
      fill()
      level -= amount
      return level >= 0 ? 0 : -level / perMs
    },
    refund(amount: number): void {
      fill()
      level = Math.min(capacity, level + amount)
    },
  }
}
