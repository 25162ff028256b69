import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ModelClient } from '../../../core/model.ts'
import { makeStamp, readCall } from '../../../formats/dialect-server/answer-call.ts'
import type { ServiceAnswer } from '../../../formats/dialect-server/model-service.ts'
import { renderGeminiModels, renderModels } from '../../../formats/dialect-server/models-list.ts'
import { openaiChatServer } from '../../../formats/dialect-server/openai-chat.ts'
import { type CallRoute, findRoute } from '../../../formats/dialect-server/routes.ts'
import type { ServedCall, ServerDialect, ServiceFault } from '../../../formats/dialect-server/server-dialect.ts'
import {
  renderAnswer,
  renderDocument,
  renderFaultAnswer,
  type WireAnswer,
} from '../../../formats/dialect-server/wire-answer.ts'
import { closeAfter, type HttpShare, readBodyWithin } from '../../../lib/http-share.ts'
import { type Ask, askModel } from './ask-model.ts'
import type { GatewayLimits, GatewayOptions } from './gateway-options.ts'
import { makeLiveAnswer, streamHeaders } from './live-answer.ts'
import { carriesKey } from './trial-key.ts'

/** The parts of the gateway needed to answer. */
export interface ServeOptions extends Omit<GatewayOptions, 'limits'> {
  readonly key: string
  readonly closing: AbortSignal
  readonly count: Ask['count']
  readonly limits: GatewayLimits
  readonly share: HttpShare
}

/** Answers one request of an agent, in whichever of the four APIs it speaks. */
export async function serveAgent(
  options: ServeOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { share } = options
  if (!share.take('requests')) return refuseUnread(options, openaiChatServer, tooMany, { request, response })
  try {
    await serveOne(options, request, response)
  } finally {
    share.release('requests')
  }
}

async function serveOne(options: ServeOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = URL.parse(request.url ?? '/', 'http://gateway.invalid')
  const route = url && findRoute(url.pathname, Object.fromEntries(url.searchParams))
  const dialect = route?.dialect ?? openaiChatServer
  const refuseIt = (fault: ServiceFault) => refuseUnread(options, dialect, fault, { request, response })
  if (!url) return refuseIt({ kind: 'invalid-request', message: 'expected an address, got something else' })
  if (!carriesKey(options.key, request.headers, url.searchParams)) {
    return refuseIt({ kind: 'auth', message: "expected the trial's own key" })
  }
  if (request.method === 'GET' && /\/models$/.test(url.pathname)) {
    return sendModels(options.client, url.pathname, response)
  }
  if (request.method !== 'POST' || !route) {
    const asked = `${request.method} ${url.pathname.slice(0, 200)}`
    return refuseIt({ kind: 'not-found', message: `nothing answers ${asked}` })
  }
  const { share, limits } = options
  const read = await readBodyWithin(request, share, limits)
  if (read.kind !== 'body') return read.kind === 'gone' ? void response.destroy() : refuseIt(unread(read.kind, limits))
  try {
    await answer(options, route, read.text, response)
  } finally {
    share.release('bytes', read.bytes)
  }
}

const tooMany: ServiceFault = {
  kind: 'rate-limit',
  message: 'too many requests at a time, or too large ones; ask again later',
  retryAfterSec: 1,
}

const saidEnough: ServiceFault = {
  kind: 'too-large',
  message: 'this trial said more than can be recorded; nothing more is asked for it',
}

/** The answer when a body is not read. */
function unread(why: 'too-large' | 'busy' | 'timeout', { bodyBytes }: GatewayLimits): ServiceFault {
  if (why === 'busy') return tooMany
  if (why === 'timeout') return { kind: 'timeout', status: 408, message: 'the request was not sent in time' }
  return { kind: 'too-large', message: `expected at most ${bodyBytes} bytes` }
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Refuses a request whose body was not and will not be read. */
function refuseUnread(
  options: ServeOptions,
  dialect: ServerDialect,
  fault: ServiceFault,
  { request, response }: Exchange,
): Promise<void> {
  closeAfter(request, response)
  return refuse(options, dialect, fault, response)
}

async function refuse(
  { refused }: ServeOptions,
  dialect: ServerDialect,
  fault: ServiceFault,
  response: ServerResponse,
): Promise<void> {
  refused({ dialect: dialect.name, code: fault.kind, message: fault.message })
  await sendAnswer(response, renderFaultAnswer(dialect, fault))
}

async function sendModels({ model, facts }: ModelClient, path: string, response: ServerResponse): Promise<void> {
  const models = [{ id: model, contextTokens: facts.contextTokens, outputTokens: facts.outputTokens }]
  const isGoogles = /^\/v1(beta|alpha)\//.test(path)
  await sendAnswer(response, renderDocument(isGoogles ? renderGeminiModels(models) : renderModels(models, 0)))
}

async function answer(options: ServeOptions, route: CallRoute, body: string, response: ServerResponse): Promise<void> {
  const { dialect } = route
  const { client, tokenDetails = false, count, closing } = options
  const parsed = readCall(route, body)
  if (parsed.kind === 'refused') return refuse(options, dialect, parsed.fault, response)
  if (options.recorder.isFull()) return refuse(options, dialect, saidEnough, response)
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const signal = AbortSignal.any([gone.signal, closing])
  const stamp = makeStamp(parsed.call)
  const live = makeLiveAnswer(response, dialect, parsed.call, stamp)
  const ask = { client, tokenDetails, signal, count, hearing: live.hearing }
  const said = await askAlive(options, { ask, dialect, call: parsed.call }, response)
  if (live.end(said)) return
  const wire = renderAnswer(dialect, parsed.call, said, stamp)
  // The client has disconnected.
  if (typeof wire === 'string') response.destroy()
  else await sendAnswer(response, wire)
}

interface Asking {
  readonly ask: Ask
  readonly dialect: ServerDialect
  readonly call: ServedCall
}

/** Asks the model, sending keep-alives to a caller that waits for a stream. */
async function askAlive(
  { recorder, silenceMs }: ServeOptions,
  { ask, dialect, call }: Asking,
  response: ServerResponse,
): Promise<ServiceAnswer> {
  const stop = call.stream ? keepAlive(response, silenceMs) : () => {}
  try {
    return await askModel(ask, call, dialect.name, recorder.begin(call.request))
  } finally {
    stop()
  }
}

/** Sends an answer; after a keep-alive, it must go into the stream that has begun. */
async function sendAnswer(response: ServerResponse, answer: WireAnswer): Promise<void> {
  const began = response.headersSent
  if (!began) response.writeHead(answer.status, { ...answer.headers })
  const closed = once(response, 'close')
  closed.catch(() => {})
  for (const { data } of answer.pieces) {
    const piece = began && answer.status !== 200 ? `event: error\ndata: ${String(data)}\n\n` : data
    if (response.destroyed) return
    if (!response.write(piece)) await Promise.race([once(response, 'drain'), closed])
  }
  response.end()
}

/** Node's own client gives up on a silent server after 300 s; faults found earlier still get their status. */
const silenceMs = 60_000

/** Keeps a stream's caller waiting as long as a slow model takes; returns a function that stops it. */
function keepAlive(response: ServerResponse, everyMs = silenceMs): () => void {
  const timer = setInterval(() => {
    if (response.destroyed) return
    if (!response.headersSent) {
      response.writeHead(200, streamHeaders)
    }
    // A comment, which every stream parser skips.
    response.write(': still here\n\n')
  }, everyMs)
  return () => clearInterval(timer)
}
