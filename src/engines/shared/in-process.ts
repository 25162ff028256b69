import type { Engine } from '../../core/model.ts'
import type { PluginContext } from '../../core/plugin.ts'
import { answerCall, readCall } from '../../formats/dialect-server/answer-call.ts'
import type { ModelService } from '../../formats/dialect-server/model-service.ts'
import { renderModels } from '../../formats/dialect-server/models-list.ts'
import { findRoute } from '../../formats/dialect-server/routes.ts'
import { plain, renderDocument, renderFaultAnswer, type WireAnswer } from '../../formats/dialect-server/wire-answer.ts'
import { openaiChat } from '../../formats/openai-chat.ts'
import { expired, sleep, withDeadline } from '../../lib/deadline.ts'
import { type HttpAnswer, type HttpCall, type HttpClient, HttpFailure } from '../../lib/http-client.ts'
import { makeEngine } from './client/make-engine.ts'
import type { ServerOptions } from './client/options.ts'

/** The parts of an engine without a server. */
export interface InProcess {
  readonly name: string
  readonly service: ModelService
  readonly reasoningField: 'reasoning_content' | null
  readonly options: Omit<ServerOptions, 'headers'>
}

/** Makes an engine whose model runs in this process. It has no address; `serve` gives it one. */
export function makeInProcessEngine(
  { name, service, reasoningField, options }: InProcess,
  context: PluginContext,
): Engine & { readonly service: ModelService } {
  const engine = makeEngine(
    {
      name,
      dialect: openaiChat({ reasoningField }),
      apiBases: [`http://${name}.invalid/v1`],
      apiKey: null,
      ownPrefixes: [`${name}/`],
      maxTokensField: 'max_tokens',
      healthcheckIntervalSec: 0,
      metricsUrls: [],
      http: makeInProcessHttp(service),
    },
    { ...options, headers: {} },
    context,
  )
  return {
    name,
    endpoint: null,
    service,
    client: engine.client,
    health: async (signal) => {
      await service.prepare()
      return engine.health(signal)
    },
  }
}

/** Speaks HTTP with a service without a network: the same client, requests and faults. */
function makeInProcessHttp(service: ModelService): HttpClient {
  return {
    async send(call) {
      const answer = await withDeadline(call.timeoutMs / 1000, call.signal ?? neverAborted, (signal) =>
        exchange(service, call, signal),
      )
      if (answer !== expired) return answer
      throw new HttpFailure('timeout', `no whole answer within ${(call.timeoutMs / 1000).toFixed(1)} s`)
    },
  }
}

const neverAborted = new AbortController().signal

async function exchange(service: ModelService, call: HttpCall, signal: AbortSignal): Promise<HttpAnswer> {
  const { pathname, searchParams } = new URL(call.url)
  if (call.method === 'GET') {
    const isList = /\/models$/.test(pathname)
    const page = isList
      ? renderDocument(renderModels(await service.models(), 0))
      : plain(404, 'text/plain', 'no such page')
    return deliver(page, call, signal)
  }
  const route = findRoute(pathname, Object.fromEntries(searchParams))
  if (!route) return deliver(plain(404, 'text/plain', 'no such page'), call, signal)
  const parsed = readCall(route, call.body ?? '')
  if (parsed.kind === 'refused') return deliver(renderFaultAnswer(route.dialect, parsed.fault), call, signal)
  const answer = await answerCall(service, route, parsed.call, signal)
  if (answer === 'hang-up') throw new HttpFailure('connection', 'the other side closed the connection')
  return answer === 'silence' ? new Promise(() => {}) : deliver(answer, call, signal)
}

/** Delivers an answer piece by piece, as a connection would. */
async function deliver(answer: WireAnswer, call: HttpCall, signal: AbortSignal): Promise<HttpAnswer> {
  const { status, headers } = answer
  const chunks: Buffer[] = []
  let bytes = 0
  const hand = async (piece: WireAnswer['pieces'][number]): Promise<boolean> => {
    if (piece.waitMs > 0) await sleep(piece.waitMs, signal)
    const chunk = Buffer.from(piece.data)
    bytes += chunk.length
    if (bytes > call.limitBytes)
      throw new HttpFailure('too-large', `the answer is longer than ${call.limitBytes} bytes`)
    if (call.onChunk && status < 300) return call.onChunk(chunk)
    chunks.push(chunk)
    return false
  }
  for (const piece of answer.pieces) if (await hand(piece)) return { status, headers, body: Buffer.alloc(0) }
  if (answer.ending === 'cut') throw new HttpFailure('connection', 'the answer was cut off: the other side hung up')
  const last = answer.pieces.at(-1)
  while (answer.ending === 'endless' && last) await hand({ ...last, waitMs: Math.max(1, last.waitMs) })
  return { status, headers, body: Buffer.concat(chunks) }
}
