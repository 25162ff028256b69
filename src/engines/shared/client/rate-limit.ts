import { sleep } from '../../../lib/deadline.ts'

export interface RateLimit {
  /** Waits for one request of about this many tokens; returns how to report what it really took. */
  take(tokens: () => number, signal: AbortSignal): Promise<(used: number) => void>
  /** No request goes out for this long: the server asked for it. */
  pause(ms: number): void
}

/** How much of a minute's allowance may be used in one go. */
const burstMinutes = 1 / 6

/** Requests and tokens per minute, shared by everyone who takes from it; null means no limit. */
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
        // A pause may be made longer while one waits for its end.
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

/** A bucket that fills steadily. Taking more than it has makes a debt, and the caller waits until it is paid. */
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
