import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ModelClient } from '../../core/model.ts'
import type { CallRecorder } from '../../formats/atif/recorder/call-recorder.ts'
import { makeStamp, readCall } from '../../formats/dialect-server/answer-call.ts'
import type { ServiceAnswer } from '../../formats/dialect-server/model-service.ts'
import { renderGeminiModels, renderModels } from '../../formats/dialect-server/models-list.ts'
import { openaiChatServer } from '../../formats/dialect-server/openai-chat.ts'
import { type CallRoute, findRoute } from '../../formats/dialect-server/routes.ts'
import type { ServedCall, ServerDialect, ServiceFault } from '../../formats/dialect-server/server-dialect.ts'
import { renderAnswer, renderDocument, renderFaultAnswer } from '../../formats/dialect-server/wire-answer.ts'
import { type Ask, askModel, type CallCounts, noCalls } from './ask-model.ts'
import { makeLiveAnswer } from './live-answer.ts'
import { keepAlive, sendAnswer } from './send-answer.ts'
import { carriesKey, makeTrialKey } from './trial-key.ts'

export interface GatewayOptions {
  /** Holds the only copy of the provider's key. */
  readonly client: ModelClient
  readonly recorder: CallRecorder
  /** Ask for token ids with every call, whatever the agent asks for. */
  readonly tokenDetails?: boolean
  /** How long a stream may be silent before it gets a sign of life; default 60 s. */
  readonly silenceMs?: number
  /** Told after every call how many there were and what came of them. */
  readonly onCount?: (counts: CallCounts) => void
}

/** An endpoint for one trial: every call of its agent passes through here and is recorded. */
export interface Gateway {
  /** What the agent shows instead of a provider's key; good here only. */
  readonly key: string
  /** Takes a connection, for example from a sandbox's door. */
  accept(socket: Duplex): void
  counts(): CallCounts
  /** Hangs up on everybody; waits until every call is written down. */
  close(): Promise<void>
}

const limitBytes = 64 * 1024 * 1024

/** Opens an endpoint that speaks four APIs, lets in only whoever has the trial's key, and asks the trial's model. */
export function openGateway(options: GatewayOptions): Gateway {
  const key = makeTrialKey()
  const closing = new AbortController()
  const sockets = new Set<Duplex>()
  const running = new Set<Promise<void>>()
  let counts = noCalls
  const count: Ask['count'] = (change) => {
    counts = { ...counts, ...change(counts) }
    options.onCount?.(counts)
  }
  const server = createServer((request, response) => {
    const work = serve(request, response).catch(() => void response.destroy())
    running.add(work)
    void work.finally(() => running.delete(work))
  })
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://gateway.invalid')
    const route = findRoute(url.pathname, Object.fromEntries(url.searchParams))
    const dialect = route?.dialect ?? openaiChatServer
    const refuse = async (fault: ServiceFault) => {
      options.recorder.refuse(dialect.name, fault.kind, fault.message)
      // What else it was going to say is not waited for.
      request.resume()
      await sendAnswer(response, renderFaultAnswer(dialect, fault))
    }
    if (!carriesKey(key, request.headers, url.searchParams)) {
      return refuse({ kind: 'auth', message: "expected the trial's own key" })
    }
    if (request.method === 'GET' && /\/models$/.test(url.pathname)) return sendModels(url.pathname, response)
    if (request.method !== 'POST' || !route) {
      return refuse({ kind: 'not-found', message: `nothing answers ${request.method} ${url.pathname}` })
    }
    const body = await readBody(request)
    if (body === null) return refuse({ kind: 'too-large', message: `expected at most ${limitBytes} bytes` })
    await answer(route, body, response)
  }
  const sendModels = (path: string, response: ServerResponse) => {
    const { model, facts } = options.client
    const models = [{ id: model, contextTokens: facts.contextTokens, outputTokens: facts.outputTokens }]
    const isGoogles = /^\/v1(beta|alpha)\//.test(path)
    return sendAnswer(response, renderDocument(isGoogles ? renderGeminiModels(models) : renderModels(models, 0)))
  }
  const answer = async (route: CallRoute, body: string, response: ServerResponse): Promise<void> => {
    const { dialect } = route
    const parsed = readCall(route, body)
    if (parsed.kind === 'refused') {
      options.recorder.refuse(dialect.name, parsed.fault.kind, parsed.fault.message)
      return sendAnswer(response, renderFaultAnswer(dialect, parsed.fault))
    }
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, closing.signal])
    const ask = { client: options.client, tokenDetails: options.tokenDetails ?? false, signal, count }
    const stamp = makeStamp(parsed.call)
    const live = makeLiveAnswer(response, dialect, parsed.call, stamp)
    const said = await askAlive(options, { ...ask, hearing: live.hearing }, dialect, parsed.call, response)
    if (live.end(said)) return
    const wire = renderAnswer(dialect, parsed.call, said, stamp)
    // Nobody is there to be told anything.
    if (typeof wire === 'string') response.destroy()
    else await sendAnswer(response, wire)
  }
  return {
    key,
    accept(socket) {
      if (closing.signal.aborted) return void socket.destroy()
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      socket.on('error', () => {})
      server.emit('connection', socket)
    },
    counts: () => counts,
    async close() {
      closing.abort()
      for (const socket of sockets) socket.destroy()
      await Promise.all(running)
    },
  }
}

/** Asks the model, with signs of life for whoever waits for a stream. */
async function askAlive(
  { recorder, silenceMs }: GatewayOptions,
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
