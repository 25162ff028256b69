import type { FaultKind, ServiceFault } from './server-dialect.ts'
import { statusOf } from './server-dialect.ts'

/** A fault in OpenAI's format, for both of its APIs. */
export function openaiFault(fault: ServiceFault): Record<string, unknown> {
  const [type, code] = words[fault.kind]
  const message =
    fault.kind === 'context-exceeded' && !/maximum context length/i.test(fault.message)
      ? `This model's maximum context length was exceeded: ${fault.message}`
      : fault.message
  return { error: { message, type, param: fault.param ?? null, code: code ?? statusOf(fault) } }
}

const words: Readonly<Record<FaultKind, readonly [type: string, code: string | null]>> = {
  'invalid-request': ['invalid_request_error', null],
  'context-exceeded': ['invalid_request_error', 'context_length_exceeded'],
  auth: ['invalid_request_error', 'invalid_api_key'],
  forbidden: ['permission_error', null],
  'not-found': ['invalid_request_error', 'model_not_found'],
  'too-large': ['invalid_request_error', null],
  'rate-limit': ['rate_limit_error', 'rate_limit_exceeded'],
  server: ['server_error', null],
  overloaded: ['server_error', null],
  timeout: ['server_error', null],
}
