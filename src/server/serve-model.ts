import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf, UserError } from '../core/errors.ts'
import type { ModelService } from '../formats/dialect-server/model-service.ts'
import { openaiFault } from '../formats/dialect-server/openai-fault.ts'
import { plain, renderFaultAnswer, type WireAnswer } from '../formats/dialect-server/wire-answer.ts'
import { codeOf } from '../lib/files.ts'
import { notFound, type Route } from './route.ts'
import { call } from './routes/call.ts'
import { health } from './routes/health.ts'
import { metrics } from './routes/metrics.ts'
import { geminiModels, models } from './routes/models.ts'
import { send } from './send.ts'

export interface ServeSettings {
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
  /** When set, calls must bring it. */
  readonly apiKey: string | null
  /** Hears of each request, once it is answered: one line. */
  readonly log?: (line: string) => void
}

/** A service that can be reached over HTTP. */
export interface ServedModelService {
  /** Without a path: `http://127.0.0.1:8000`. */
  readonly origin: string
  /** Ends every connection. */
  close(): Promise<void>
}

/** Serves a model in every API we know, with its list, its health and its metrics. */
export async function serveModel(service: ModelService, settings: ServeSettings): Promise<ServedModelService> {
  const startedSec = Math.floor(Date.now() / 1000)
  const server = createServer((message, response) => void handle(service, settings, startedSec, message, response))
  // Callers keep connections open between calls for longer than Node does by default.
  server.keepAliveTimeout = 120_000
  server.requestTimeout = 0
  await listen(server, settings)
  const { port } = server.address() as AddressInfo
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host
  return {
    origin: `http://${host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function listen(server: Server, { host, port }: ServeSettings): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  }).catch((error: unknown) => {
    const inUse = codeOf(error) === 'EADDRINUSE'
    throw new UserError(
      `expected to listen on ${host} port ${port}, got ${inUse ? 'a port that is in use' : messageOf(error)}`,
      inUse ? 'choose another one with --port; 0 takes any that is free' : 'choose another --host or --port',
    )
  })
}

async function handle(
  service: ModelService,
  settings: ServeSettings,
  startedSec: number,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const startedAt = performance.now()
  const gone = new AbortController()
  response.on('close', () => {
    if (!response.writableFinished) gone.abort()
    const ms = Math.round(performance.now() - startedAt)
    settings.log?.(`${message.method} ${pathOf(message)} ${response.statusCode} ${ms} ms`)
  })
  const { signal } = gone
  try {
    const url = new URL(message.url ?? '/', 'http://here')
    const query = Object.fromEntries(url.searchParams)
    const asked = { service, path: url.pathname, query, message, response, startedSec, signal }
    if (!isAllowed(message, settings.apiKey)) await send(response, noKey, signal)
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

/** Every API has its own place for a key; whoever watches the server needs none, as with vLLM. */
function isAllowed({ headers, url = '' }: IncomingMessage, apiKey: string | null): boolean {
  if (apiKey === null || /^\/(health|metrics)$/.test(url)) return true
  const [, bearer] = /^Bearer (.+)$/i.exec(headers.authorization ?? '') ?? []
  const given =
    bearer ?? headers['x-api-key'] ?? headers['x-goog-api-key'] ?? new URL(url, 'http://x').searchParams.get('key')
  return typeof given === 'string' && timingSafeEqual(digest(given), digest(apiKey))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

const noKey = renderFaultAnswer({ renderFault: openaiFault }, { kind: 'auth', message: 'Incorrect API key provided.' })

/** What the service throws is a failure of the server, whoever is to blame. */
function failed(error: unknown): WireAnswer {
  const message = messageOf(error).slice(0, 300)
  return plain(500, 'application/json', JSON.stringify(openaiFault({ kind: 'server', message })))
}

/** Without the query, which may hold a key. */
function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?')[0] ?? url
}
