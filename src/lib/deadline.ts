/** A point in time on the monotonic clock, which changes of the system time do not affect. */
const moments = new WeakMap<Date, number>()

/** Milliseconds until a moment. After the first call, setting the machine's clock no longer moves it. */
export function msUntil(moment: Date): number {
  const known = moments.get(moment) ?? performance.now() + (moment.getTime() - Date.now())
  moments.set(moment, known)
  return known - performance.now()
}

/** What a deadline returns instead of a result when the time is up. */
export const expired = Symbol('expired')

/**
 * Runs `work` for at most `sec` seconds and returns its result, or `expired`. It holds even if `work` never looks at
 * its signal: then the promise is abandoned and its outcome ignored. An abort of `parent` is passed on to `work` and
 * rejects at once with the parent's reason.
 */
export async function withDeadline<T>(
  sec: number | null,
  parent: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | typeof expired> {
  parent.throwIfAborted()
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let stop: (() => void) | undefined
  const interruption = new Promise<typeof expired>((resolve, reject) => {
    if (sec !== null) timer = setTimeout(() => resolve(expired), Math.min(sec * 1000, maxTimerMs))
    stop = () => reject(parent.reason)
    parent.addEventListener('abort', stop, { once: true })
  })
  const running = work(controller.signal)
  running.catch(() => {})
  try {
    return await Promise.race([running, interruption])
  } finally {
    clearTimeout(timer)
    if (stop) parent.removeEventListener('abort', stop)
    controller.abort(over)
  }
}

/**
 * A single error for all: making one with a stack for every deadline that was met would cost more than the deadline.
 */
const over = new DOMException('the time limit was reached', 'AbortError')

/** setTimeout fires immediately above this. */
const maxTimerMs = 2 ** 31 - 1

/** Waits, or rejects with the signal's reason as soon as it is aborted. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** Waits until the signal is aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
