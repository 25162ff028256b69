/** How often a call is tried, and how long it waits in between. */
export interface RetrySettings {
  readonly maxAttempts: number
  readonly minWaitMs: number
  readonly maxWaitMs: number
}

/** The longest wait that a server can ask for. */
const maxRetryAfterMs = 300_000

/**
 * How long to wait before the next attempt, or null when none is left. The wait is random, up to a bound that doubles
 * each time, so that callers that failed together do not return together; a wait requested by the server takes
 * precedence.
 */
export function retryWaitMs(
  attempt: number,
  settings: RetrySettings,
  retryAfterMs: number | null,
  random: () => number = Math.random,
): number | null {
  if (attempt >= settings.maxAttempts) return null
  const bound = Math.min(settings.maxWaitMs, settings.minWaitMs * 2 ** (attempt - 1))
  const jitter = random() * bound
  return retryAfterMs === null ? jitter : Math.min(retryAfterMs, maxRetryAfterMs) + Math.min(jitter, settings.minWaitMs)
}

/** A server's retry-after value in milliseconds; null when there is none that can be read. */
export function readRetryAfter(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  now: number,
): number | null {
  const millis = Number(single(headers['retry-after-ms']) ?? Number.NaN)
  if (millis >= 0) return millis
  const text = single(headers['retry-after'])
  if (text === undefined) return null
  const sec = text.trim() === '' ? Number.NaN : Number(text)
  if (sec >= 0) return sec * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
