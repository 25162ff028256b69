import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import { cloudFailure } from '../cloud/failures.ts'

/** gRPC status codes: the package does not export its error classes, so errors are identified by these. */
const [deadlineExceeded, notFound, permissionDenied, resourceExhausted, failedPrecondition] = [4, 5, 7, 8, 9]
const [aborted, internal, unavailable, unauthenticated] = [10, 13, 14, 16]

/** Translates the package's errors into ours. */
export function failureOf(error: unknown): Error {
  if (error instanceof BoundaryError || error instanceof UserError) return error
  const message = `Modal: ${messageOf(error).slice(0, 500)}`
  switch (grpcCodeOf(error)) {
    case unauthenticated:
    case permissionDenied:
      return new UserError(
        'Modal does not accept MODAL_TOKEN_ID and MODAL_TOKEN_SECRET',
        'create a token at https://modal.com/settings/tokens',
      )
    case resourceExhausted:
      return cloudFailure(
        /rate|too many requests/i.test(message) ? 'SandboxRateLimitError' : 'SandboxQuotaError',
        message,
        error,
      )
    case notFound:
    case failedPrecondition:
      return cloudFailure('SandboxGoneError', message, error)
    case internal:
    case unavailable:
    case aborted:
      return cloudFailure('SandboxUnavailableError', message, error)
    case deadlineExceeded:
      return cloudFailure('SandboxLostError', message, error)
    default:
      return error instanceof Error && error.name === 'NotFoundError'
        ? cloudFailure('SandboxGoneError', message, error)
        : cloudFailure('SandboxLostError', message, error)
  }
}

/** Runs a request and translates its errors into ours. */
export async function asking<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    throw failureOf(error)
  }
}

function grpcCodeOf(error: unknown): number {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : -1
}
