import { BoundaryError, messageOf } from '../../../core/errors.ts'
import type { ServiceFault } from '../../../formats/dialect-server/server-dialect.ts'

/**
 * A failed call as the agent is told of it. What the provider says about the key stays outside: its words may quote
 * the key, and a 401 would send the agent looking for another one.
 */
export function faultOf(error: unknown): ServiceFault {
  const message = messageOf(error)
  const code = error instanceof BoundaryError ? error.code : ''
  switch (code) {
    case 'AuthenticationError':
    case 'PermissionDeniedError':
      return { kind: 'server', status: 502, message: "the model's server does not let this run in" }
    case 'RateLimitError':
      return { kind: 'rate-limit', message }
    case 'ModelNotFoundError':
      return { kind: 'not-found', message }
    case 'BadRequestError':
      return { kind: 'invalid-request', message }
    case 'ApiTimeoutError':
      return { kind: 'timeout', message }
    case 'ApiConnectionError':
      return { kind: 'overloaded', message: "the model's server cannot be reached" }
    case 'MalformedReplyError':
      return { kind: 'server', status: 502, message }
    case 'InternalServerError':
      return { kind: 'server', message }
    default:
      return { kind: 'server', message: 'the model could not be asked' }
  }
}
