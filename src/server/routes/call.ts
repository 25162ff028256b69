import { answerCall, readCall } from '../../formats/dialect-server/answer-call.ts'
import { findRoute } from '../../formats/dialect-server/routes.ts'
import { renderFaultAnswer } from '../../formats/dialect-server/wire-answer.ts'
import { readBody } from '../read-body.ts'
import { notFound, type Route } from '../route.ts'
import { keepAlive, lateAnswer, send } from '../send.ts'

/** A conversation longer than this is none. */
const maxBodyBytes = 64 * 1024 * 1024

/** POST to any API of a model: read, answered, written in the same API. */
export const call: Route = async ({ service, path, query, message, response, signal }) => {
  const route = findRoute(path, query)
  if (!route) return send(response, notFound, signal)
  const { dialect } = route
  const body = await readBody(message, maxBodyBytes)
  if (body === null) {
    const fault = { kind: 'too-large', message: `expected at most ${maxBodyBytes} bytes` } as const
    return send(response, renderFaultAnswer(dialect, fault), signal)
  }
  const parsed = readCall(route, body)
  if (parsed.kind === 'refused') return send(response, renderFaultAnswer(dialect, parsed.fault), signal)
  const stop = parsed.call.stream ? keepAlive(response, dialect) : () => {}
  const answer = await answerCall(service, route, parsed.call, signal).finally(stop)
  if (answer === 'hang-up') response.destroy()
  // Whoever is answered with silence must hang up himself.
  if (typeof answer === 'object')
    await send(response, response.headersSent ? lateAnswer(answer, dialect) : answer, signal)
}
