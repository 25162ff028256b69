import type { ServiceAnswer } from '../../formats/dialect-server/model-service.ts'
import type { Fault } from './fault.ts'

/** The server's answer for a given kind of failure. */
export function wireFaultAnswer({ kind, retry_after_sec, status }: Fault): ServiceAnswer {
  switch (kind) {
    case 'rate-limit':
      return fault('rate-limit', 'Rate limit reached: too many requests per minute.', {
        retryAfterSec: retry_after_sec,
      })
    case 'auth':
      return fault('auth', 'Incorrect API key provided.')
    case 'context-exceeded':
      return fault('context-exceeded', "This model's maximum context length is exceeded.")
    case 'drop':
      return { kind: 'hang-up' }
    case 'silence':
      return { kind: 'silence' }
    case 'proxy-page':
      return foreign(502, '<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>')
    case 'not-json':
      return foreign(200, '{"choices": [{"message": {"content": "this is not the end')
    default:
      return fault('server', 'The server had an error while processing the request.', { status })
  }
}

type Kind = Extract<ServiceAnswer, { kind: 'fault' }>['fault']['kind']

function fault(kind: Kind, message: string, more: { retryAfterSec?: number; status?: number } = {}): ServiceAnswer {
  return { kind: 'fault', fault: { kind, message, ...more } }
}

function foreign(status: number, body: string): ServiceAnswer {
  return { kind: 'foreign', status, contentType: status === 200 ? 'application/json' : 'text/html', body }
}
