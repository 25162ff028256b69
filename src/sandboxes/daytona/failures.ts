import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import { sleep } from '../../lib/deadline.ts'
import { cloudFailure } from '../cloud/failures.ts'

/** The fields of the provider package's errors that we use. */
interface Refusal {
  readonly status: number | undefined
  readonly message: string
  readonly retryAfterSec: number | null
}

/** Translates an error of the provider's package into one of ours. */
export function translate(error: unknown, doing: string): Error {
  if (error instanceof BoundaryError || error instanceof UserError) return error
  const { status, message } = refusalOf(error)
  const text = `Daytona: ${doing}: ${message}`
  if (status === 401)
    return new UserError(
      `Daytona does not accept the API key (${message})`,
      'check DAYTONA_API_KEY and DAYTONA_API_URL',
    )
  if (isQuota(error)) return cloudFailure('SandboxQuotaError', text, error)
  if (status === 429) return cloudFailure('SandboxRateLimitError', text, error)
  if (status === 404 || status === 410) return cloudFailure('SandboxGoneError', text, error)
  if (status === undefined || status === 408 || status === 409 || status >= 500)
    return cloudFailure('SandboxUnavailableError', text, error)
  return new BoundaryError('sandbox', text, { retryable: false, cause: error })
}

/** A quota error has no class or status of its own; only its message tells. */
export function isQuota(error: unknown): boolean {
  const { status, message } = refusalOf(error)
  return [400, 402, 403, 429].includes(status ?? 0) && /(limit|quota) (exceeded|reached)|maximum allowed/i.test(message)
}

export function statusOf(error: unknown): number | undefined {
  return refusalOf(error).status
}

function refusalOf(error: unknown): Refusal {
  const fields = typeof error === 'object' && error !== null ? error : {}
  const status = 'statusCode' in fields && typeof fields.statusCode === 'number' ? fields.statusCode : undefined
  const headers = 'headers' in fields && typeof fields.headers === 'object' ? fields.headers : null
  return { status, message: messageOf(error).slice(0, 500), retryAfterSec: retryAfterOf(headers) }
}

/** The provider has a separate header per kind of request besides the usual one. */
function retryAfterOf(headers: object | null): number | null {
  for (const [name, value] of Object.entries(headers ?? {})) {
    const seconds = name.toLowerCase().startsWith('retry-after') ? Number(value) : Number.NaN
    if (Number.isFinite(seconds) && seconds >= 0) return seconds
  }
  return null
}

export interface Patience {
  /** For a message. */
  readonly doing: string
  readonly signal?: AbortSignal
  /** Also retries conflicts, when the provider is just changing the sandbox's state. */
  readonly conflicts?: boolean
  readonly tries?: number
}

const firstPauseMs = 250
const longestPauseMs = 15_000
const longestAskedMs = 60_000
const usualTries = 8

/**
 * Repeats a repeatable request while the provider is busy, in trouble or unreachable, waiting as long as it asks for.
 */
export async function patiently<T>(
  work: () => Promise<T>,
  { doing, signal, conflicts, tries = usualTries }: Patience,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted()
    try {
      return await work()
    } catch (error) {
      if (attempt >= tries || !passes(error, conflicts ?? false)) throw translate(error, doing)
      const asked = (refusalOf(error).retryAfterSec ?? 0) * 1000
      const pause = Math.min(firstPauseMs * 2 ** (attempt - 1), longestPauseMs) * (0.75 + Math.random() / 2)
      await sleep(Math.max(pause, Math.min(asked, longestAskedMs)), signal)
    }
  }
}

function passes(error: unknown, conflicts: boolean): boolean {
  if (error instanceof BoundaryError || error instanceof UserError || isQuota(error)) return false
  const { status } = refusalOf(error)
  return status === undefined ? isNetwork(error) : status === 429 || status >= 500 || (status === 409 && conflicts)
}

/**
 * True when there was no answer at all. Any other error without a status comes from the package itself, and would come
 * again.
 */
export function isNetwork(error: unknown): boolean {
  return error instanceof Error && /^DaytonaConnection/.test(error.name)
}
