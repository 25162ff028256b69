import { answerCall, readCall } from '../../formats/dialect-server/answer-call.ts'
import { findRoute } from '../../formats/dialect-server/routes.ts'
import { renderEvent, type ServerDialect } from '../../formats/dialect-server/server-dialect.ts'
import { renderFaultAnswer, type WireAnswer } from '../../formats/dialect-server/wire-answer.ts'
import { readBody } from '../read-body.ts'
import { notFound, type Route } from '../route.ts'

/** A conversation longer than this is none. */
const maxBodyBytes = 64 * 1024 * 1024

/** POST to any API of a model: read, answered, written in the same API. */
export const call: Route = async ({ service, path, query, message, signal }) => {
  const route = findRoute(path, query)
  if (!route) return notFound
  const { dialect } = route
  const body = await readBody(message, maxBodyBytes)
  if (body === null) {
    return renderFaultAnswer(dialect, { kind: 'too-large', message: `expected at most ${maxBodyBytes} bytes` })
  }
  const parsed = readCall(route, body)
  if (parsed.kind === 'refused') return renderFaultAnswer(dialect, parsed.fault)
  const answer = answerCall(service, route, parsed.call, signal)
  if (!parsed.call.stream) return answer
  return { answer, heartbeat: dialect.heartbeat, asEvents: (late) => eventsOf(late, dialect) }
}

/** A stream goes on as it is; a page that would have had another status is told as a fault. */
function eventsOf({ status, pieces }: WireAnswer, dialect: ServerDialect): string {
  const text = pieces.map(({ data }) => data.toString()).join('')
  return renderEvent(
    dialect.faultEvent({ kind: status === 429 ? 'rate-limit' : 'server', message: messageIn(text), status }),
  )
}

function messageIn(page: string): string {
  try {
    const { error } = JSON.parse(page)
    return String(error?.message ?? page)
  } catch {
    return page.slice(0, 300)
  }
}
