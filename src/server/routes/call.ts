import { answerCall, readCall } from '../../formats/dialect-server/answer-call.ts'
import { findRoute } from '../../formats/dialect-server/routes.ts'
import { renderFaultAnswer } from '../../formats/dialect-server/wire-answer.ts'
import { closeAfter, HttpPool, HttpShare, readBodyWithin } from '../../lib/http-share.ts'
import { notFound, type Route } from '../route.ts'
import { keepAlive, lateAnswer, send } from '../send.ts'

/** No real conversation is longer than this. */
const maxBodyBytes = 64 * 1024 * 1024
const limits = { bodyBytes: maxBodyBytes, idleMs: 30_000, totalMs: 300_000 }
/** Limits on what all callers together may use at once. */
const most = { connections: 4096, requests: 4096, bytes: 1024 * 1024 * 1024 }
const share = new HttpShare(most, { connections: 0, requests: 0, bytes: 0 }, new HttpPool(most))

const unread = {
  'too-large': { kind: 'too-large', message: `expected at most ${maxBodyBytes} bytes` },
  busy: { kind: 'rate-limit', message: 'too many requests at the same time; try again later', retryAfterSec: 1 },
  timeout: { kind: 'timeout', status: 408, message: 'the request was not sent in time' },
} as const

/** POST to any model API: reads the request and answers it in the same API's format. */
export const call: Route = async ({ service, path, query, message, response, signal }) => {
  const route = findRoute(path, query)
  if (!route) return send(response, notFound, signal)
  const { dialect } = route
  const body = await readBodyWithin(message, share, limits)
  if (body.kind !== 'body') {
    closeAfter(message, response)
    return body.kind === 'gone'
      ? void response.destroy()
      : send(response, renderFaultAnswer(dialect, unread[body.kind]), signal)
  }
  // Runs on every exit path, including when the caller hangs up.
  if (response.closed) return share.release('bytes', body.bytes)
  response.once('close', () => share.release('bytes', body.bytes))
  const parsed = readCall(route, body.text)
  if (parsed.kind === 'refused') return send(response, renderFaultAnswer(dialect, parsed.fault), signal)
  const stop = parsed.call.stream ? keepAlive(response, dialect) : () => {}
  const answer = await answerCall(service, route, parsed.call, signal).finally(stop)
  if (answer === 'hang-up') response.destroy()
  // When there is no answer to send, the connection stays open until the caller hangs up.
  if (typeof answer === 'object')
    await send(response, response.headersSent ? lateAnswer(answer, dialect) : answer, signal)
}
