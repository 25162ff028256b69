import { BoundaryError, isAbort, messageOf, UserError } from '../../core/errors.ts'

/** Another user changed the branch between our read and our commit. */
export class CommitConflict extends Error {}

/** The status with which the Hub refused a request, or null if it was not the Hub. */
export function statusOf(error: unknown): number | null {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : null
  return typeof status === 'number' ? status : null
}

/** The error code if the Hub cannot be reached at all. */
export const hubUnreachable = 'HubUnreachable'

/** Turns a failed Hub request into a user error or an infrastructure failure; `what` names the dataset. */
export function hubFailure(error: unknown, what: string, hasToken: boolean): Error {
  if (error instanceof UserError || error instanceof BoundaryError || isAbort(error)) return error as Error
  if (error instanceof CommitConflict) return error
  const status = statusOf(error)
  if (status === null) return unreachable(error, what)
  return refusedByUser(status, what, hasToken) ?? refusedByHub(status, what, error)
}

function refusedByUser(status: number, what: string, hasToken: boolean): UserError | null {
  if (status === 401)
    return hasToken
      ? new UserError(
          `${what}: the Hub does not accept the token (401)`,
          'log in again with hf auth login, or set HF_TOKEN to a token that is valid',
        )
      : new UserError(
          `${what}: expected a token, found none (401)`,
          'it is private or does not exist; run hf auth login, or export HF_TOKEN=...',
        )
  if (status === 403)
    return new UserError(
      `${what}: the token lacks permission (403)`,
      'use a token with write access, or accept the terms of a gated dataset',
    )
  if (status === 404)
    return new UserError(
      `${what}: expected it on the Hub, found nothing (404)`,
      'check the name, --revision, and that the token has access to it',
    )
  return null
}

function refusedByHub(status: number, what: string, cause: unknown): BoundaryError {
  const said = shorten(messageOf(cause))
  if (status === 429)
    return new BoundaryError('store', `${what}: too many requests to the Hub (429); try again later: ${said}`, {
      ...{ code: 'HubRateLimited', retryable: true },
    })
  if (status >= 500)
    return new BoundaryError('store', `${what}: the Hub failed (${status}): ${said}`, {
      ...{ code: 'HubUnavailable', retryable: true },
    })
  return new BoundaryError('store', `${what}: the Hub refused the request (${status}): ${said}`, {
    ...{ code: 'HubRefused', retryable: false },
  })
}

function unreachable(error: unknown, what: string): Error {
  if (!(error instanceof TypeError) || !/fetch failed|terminated/.test(error.message)) return error as Error
  const cause = error.cause instanceof Error ? error.cause.message : error.message
  return new BoundaryError('store', `${what}: the Hub could not be reached: ${shorten(cause)}`, {
    ...{ code: hubUnreachable, retryable: true },
  })
}

/** URLs of files on the Hub may carry a signature in their query. */
function shorten(text: string): string {
  return text
    .replace(/\?\S*/g, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .slice(0, 300)
}
