import type * as E2b from 'e2b'
import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import { cloudFailure } from '../cloud/failures.ts'

/** Translates the package's errors into ours: by class, then by status, then by message. */
export function failureOf(e2b: typeof E2b, error: unknown): Error {
  if (error instanceof BoundaryError || error instanceof UserError) return error
  const message = `E2B: ${messageOf(error).slice(0, 500)}`
  if (error instanceof e2b.AuthenticationError)
    return new UserError(
      'E2B does not accept the key in E2B_API_KEY',
      'create one at https://e2b.dev/dashboard?tab=keys',
    )
  if (error instanceof e2b.RateLimitError)
    return cloudFailure(isQuota(message) ? 'SandboxQuotaError' : 'SandboxRateLimitError', message, error)
  if (error instanceof e2b.ServiceBusyError) return cloudFailure('SandboxUnavailableError', message, error)
  if (error instanceof e2b.SandboxNotFoundError) return cloudFailure('SandboxGoneError', message, error)
  if (error instanceof e2b.TimeoutError) return cloudFailure('SandboxLostError', message, error)
  const status = statusOf(error)
  if (status >= 500) return cloudFailure('SandboxUnavailableError', message, error)
  if (isQuota(message)) return cloudFailure('SandboxQuotaError', message, error)
  if (status >= 400) return new BoundaryError('sandbox', message, { retryable: false, cause: error })
  // A request that timed out, or a connection that broke.
  return cloudFailure('SandboxLostError', message, error)
}

/** Runs a request and translates its errors into ours. */
export async function asking<T>(e2b: typeof E2b, request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    throw failureOf(e2b, error)
  }
}

function isQuota(message: string): boolean {
  return /maximum number of concurrent|quota|(?<!rate )limit (reached|exceeded)/i.test(message)
}

function statusOf(error: unknown): number {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  return typeof status === 'number' ? status : 0
}
