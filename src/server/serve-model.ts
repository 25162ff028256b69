import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import { messageOf } from '../core/errors.ts'
import type { ModelService } from '../formats/dialect-server/model-service.ts'
import { openaiFault } from '../formats/dialect-server/openai-fault.ts'
import { plain, renderFaultAnswer, type WireAnswer } from '../formats/dialect-server/wire-answer.ts'
import { closeAfter } from '../lib/http-share.ts'
import { isLoopback } from '../lib/loopback.ts'
import { isSameKey, listen } from './listen.ts'
import { notFound, type Route } from './route.ts'
import { call } from './routes/call.ts'
import { health } from './routes/health.ts'
import { metrics } from './routes/metrics.ts'
import { geminiModels, models } from './routes/models.ts'
import { send } from './send.ts'

export interface ServeSettings {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  /** If set, callers must send this key. */
  readonly apiKey: string | null
  /** Host names that callers without a key may use for this machine, in addition to its addresses. */
  readonly names?: readonly string[]
  /** Called once per answered request, with a one-line description. */
  readonly log?: (line: string, status: number) => void
}

/** A model service that listens on HTTP. */
export interface ServedModelService {
  /** Has no path: `http://127.0.0.1:8000`. */
  readonly origin: string
  /** Closes every connection. */
  close(): Promise<void>
}

/** Serves a model in every API we support, along with its model list, health and metrics pages. */
export async function serveModel(service: ModelService, settings: ServeSettings): Promise<ServedModelService> {
  const startedSec = Math.floor(Date.now() / 1000)
  const log = settings.log && sparingly(settings.log)
  const watched = { ...settings, ...(log && { log }) }
  const server = createServer(
    (message, response) => void handle(service, { settings: watched, startedSec }, message, response),
  )
  // Callers keep connections open between calls for longer than Node's default allows.
  server.keepAliveTimeout = 120_000
  server.headersTimeout = 30_000
  // This limits how long sending a request may take, not how long its answer may take.
  server.requestTimeout = 300_000
  server.maxConnections = 4096
  return listen(server, settings)
}

interface Serving {
  readonly settings: ServeSettings
  readonly startedSec: number
}

async function handle(
  service: ModelService,
  { settings, startedSec }: Serving,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const startedAt = performance.now()
  const gone = new AbortController()
  response.on('close', () => {
    if (!response.writableFinished) gone.abort()
    const ms = Math.round(performance.now() - startedAt)
    settings.log?.(`${message.method} ${pathOf(message)} ${response.statusCode} ${ms} ms`, response.statusCode)
  })
  const { signal } = gone
  try {
    const url = URL.parse(message.url ?? '/', 'http://here')
    if (!url) return await refuse(message, response, noAddress, signal)
    const query = Object.fromEntries(url.searchParams)
    const asked = { service, path: url.pathname, query, message, response, startedSec, signal }
    const wrong = refusalOf(message, settings)
    if (wrong) await refuse(message, response, wrong, signal)
    else await routeFor(message.method, url.pathname)(asked)
  } catch (error) {
    if (signal.aborted || response.headersSent) response.destroy()
    else await send(response, failed(error), signal).catch(() => response.destroy())
  }
}

function routeFor(method: string | undefined, path: string): Route {
  if (method === 'POST') return call
  const isRead = method === 'GET' || method === 'HEAD'
  return (isRead && pages.find(([pattern]) => pattern.test(path))?.[1]) || nothing
}

const nothing: Route = ({ response, signal }) => send(response, notFound, signal)

const pages: readonly (readonly [pattern: RegExp, route: Route])[] = [
  [/^\/(v1\/)?health$/, health],
  [/^\/metrics$/, metrics],
  [/^\/(v1\/)?models(\/.+)?$/, models],
  [/^\/v1beta\/models(\/.+)?$/, geminiModels],
]

/** Checks the key, which each API puts in a different place; monitoring needs no key, as with vLLM. */
function isAllowed({ headers, url = '' }: IncomingMessage, apiKey: string | null): boolean {
  if (apiKey === null || /^\/(health|metrics)$/.test(url)) return true
  const [, bearer] = /^Bearer (.+)$/i.exec(headers.authorization ?? '') ?? []
  const given =
    bearer ?? headers['x-api-key'] ?? headers['x-goog-api-key'] ?? new URL(url, 'http://x').searchParams.get('key')
  return isSameKey(given, apiKey)
}

/** Why a request is refused before its body is read, or null. */
function refusalOf(message: IncomingMessage, settings: ServeSettings): WireAnswer | null {
  if (!isOurPage(message, settings)) return foreign
  return isAllowed(message, settings.apiKey) ? null : noKey
}

/** Stops web pages from talking to a server on the reader's machine, whatever host name they reach it by. */
function isOurPage({ headers: { host, origin } }: IncomingMessage, { apiKey, host: own, names = [] }: ServeSettings) {
  const asked = host === undefined ? null : nameIn(`http://${host}`)
  const known = (name: string | null) => name !== null && (isLoopback(name) || name === own || names.includes(name))
  // With a key, any host name is fine. An IP address is too: unlike a name, it cannot be pointed elsewhere.
  const hostFits = host === undefined || apiKey !== null || known(asked) || (asked !== null && isAddress(asked))
  return hostFits && (origin === undefined || known(nameIn(origin)) || nameIn(origin) === asked)
}

function nameIn(url: string): string | null {
  return URL.parse(url)?.hostname.replace(/^\[|\]$/g, '') ?? null
}

function isAddress(name: string): boolean {
  return isIP(name) !== 0
}

function refuse(message: IncomingMessage, response: ServerResponse, answer: WireAnswer, signal: AbortSignal) {
  closeAfter(message, response)
  return send(response, answer, signal)
}

const words = { renderFault: openaiFault }
const noKey = renderFaultAnswer(words, { kind: 'auth', message: 'Incorrect API key provided.' })
const foreign = renderFaultAnswer(words, {
  kind: 'forbidden',
  message: 'not served under this Host, or to this Origin',
})
const noAddress = renderFaultAnswer(words, { kind: 'invalid-request', message: 'expected an address' })

const mostRefusals = 100

/** Logs every answered request but only the first refused ones, then just a running count of refusals. */
function sparingly(log: NonNullable<ServeSettings['log']>): (line: string, status: number) => void {
  let refused = 0
  return (line, status) => {
    if (![401, 403, 408, 413, 429].includes(status) || ++refused <= mostRefusals) log(line, status)
    else if (refused % 10_000 === 0) log(`${refused} requests refused so far`, status)
  }
}

/** Anything the service throws is reported as a server error, whatever the cause. */
function failed(error: unknown): WireAnswer {
  const message = messageOf(error).slice(0, 300)
  return plain(500, 'application/json', JSON.stringify(openaiFault({ kind: 'server', message })))
}

/** The path for the log: without the query, which may hold a key, shortened, and in printable ASCII only. */
function pathOf({ url = '/' }: IncomingMessage): string {
  return (url.split('?')[0] ?? url).slice(0, 200).replaceAll(/[^\x21-\x7e]/g, '?')
}
