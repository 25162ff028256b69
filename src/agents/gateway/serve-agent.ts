import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ModelClient } from '../../core/model.ts'
import { makeStamp, readCall } from '../../formats/dialect-server/answer-call.ts'
import type { ServiceAnswer } from '../../formats/dialect-server/model-service.ts'
import { renderGeminiModels, renderModels } from '../../formats/dialect-server/models-list.ts'
import { openaiChatServer } from '../../formats/dialect-server/openai-chat.ts'
import { type CallRoute, findRoute } from '../../formats/dialect-server/routes.ts'
import type { ServedCall, ServerDialect, ServiceFault } from '../../formats/dialect-server/server-dialect.ts'
import { renderAnswer, renderDocument, renderFaultAnswer } from '../../formats/dialect-server/wire-answer.ts'
import { type Ask, askModel } from './ask-model.ts'
import type { GatewayOptions } from './gateway-options.ts'
import { makeLiveAnswer } from './live-answer.ts'
import { keepAlive, sendAnswer } from './send-answer.ts'
import { carriesKey } from './trial-key.ts'

/** What answering needs to know of its gateway. */
export interface ServeOptions extends GatewayOptions {
  readonly key: string
  readonly closing: AbortSignal
  readonly count: Ask['count']
}

const limitBytes = 64 * 1024 * 1024

/** Answers one request of an agent, in whichever of the four APIs it speaks. */
export async function serveAgent(
  options: ServeOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://gateway.invalid')
  const route = findRoute(url.pathname, Object.fromEntries(url.searchParams))
  const refuseIt = (fault: ServiceFault) => {
    // What else it was going to say is not waited for.
    request.resume()
    return refuse(options, route?.dialect ?? openaiChatServer, fault, response)
  }
  if (!carriesKey(options.key, request.headers, url.searchParams)) {
    return refuseIt({ kind: 'auth', message: "expected the trial's own key" })
  }
  if (request.method === 'GET' && /\/models$/.test(url.pathname)) {
    return sendModels(options.client, url.pathname, response)
  }
  if (request.method !== 'POST' || !route) {
    return refuseIt({ kind: 'not-found', message: `nothing answers ${request.method} ${url.pathname}` })
  }
  const body = await readBody(request)
  if (body === null) return refuseIt({ kind: 'too-large', message: `expected at most ${limitBytes} bytes` })
  return answer(options, route, body, response)
}

async function refuse(
  { recorder }: ServeOptions,
  dialect: ServerDialect,
  fault: ServiceFault,
  response: ServerResponse,
): Promise<void> {
  recorder.refuse(dialect.name, fault.kind, fault.message)
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
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const signal = AbortSignal.any([gone.signal, closing])
  const stamp = makeStamp(parsed.call)
  const live = makeLiveAnswer(response, dialect, parsed.call, stamp)
  const ask = { client, tokenDetails, signal, count, hearing: live.hearing }
  const said = await askAlive(options, ask, dialect, parsed.call, response)
  if (live.end(said)) return
  const wire = renderAnswer(dialect, parsed.call, said, stamp)
  // Nobody is there to be told anything.
  if (typeof wire === 'string') response.destroy()
  else await sendAnswer(response, wire)
}

/** Asks the model, with signs of life for whoever waits for a stream. */
async function askAlive(
  { recorder, silenceMs }: ServeOptions,
  ask: Ask,
  dialect: ServerDialect,
  call: ServedCall,
  response: ServerResponse,
): Promise<ServiceAnswer> {
  const stop = call.stream ? keepAlive(response, silenceMs) : () => {}
  try {
    return await askModel(ask, call, recorder.begin(call.request, dialect.name))
  } finally {
    stop()
  }
}

/** The body of a request, or null when it is too long. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length
    if (bytes > limitBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
