import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import type { Board } from '../../app/view/board.ts'
import type { Library } from '../../app/view/library.ts'
import { NotHere } from '../../app/view/library-job.ts'
import { ExchangeReader } from '../../app/view/view-exchanges.ts'
import { Trajectories } from '../../app/view/view-steps.ts'
import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import { codeOf } from '../../lib/files.ts'
import { isLoopback } from '../../lib/loopback.ts'
import { isSameKey, listen } from '../listen.ts'
import { type Asset, assetFor } from './assets.ts'
import type { ViewRoute, ViewWriter } from './route.ts'
import { board as boardRoute, csv } from './routes/board.ts'
import { compare } from './routes/compare.ts'
import { datasetList } from './routes/dataset-list.ts'
import { datasetRow, datasetRowText, datasetSimilar } from './routes/dataset-row.ts'
import { datasetRows } from './routes/dataset-rows.ts'
import { events } from './routes/events.ts'
import { exchanges } from './routes/exchanges.ts'
import { health } from './routes/health.ts'
import { job } from './routes/job.ts'
import { jobText } from './routes/job-text.ts'
import { jobs } from './routes/jobs.ts'
import { model } from './routes/model.ts'
import { raw } from './routes/raw.ts'
import { recipe, recipeDropped } from './routes/recipe.ts'
import { newRunForm, previewRun, runFromJob, startedRuns, startRun, stopRun } from './routes/runs.ts'
import { sections } from './routes/sections.ts'
import { steps } from './routes/steps.ts'
import { task } from './routes/task.ts'
import { taskList } from './routes/task-list.ts'
import { taskText } from './routes/task-text.ts'
import { taskTrials } from './routes/task-trials.ts'
import { tasks } from './routes/tasks.ts'
import { text } from './routes/text.ts'
import { trial } from './routes/trial.ts'
import { trials } from './routes/trials.ts'
import { Refused } from './write-access.ts'

export interface ViewServerSettings {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  /** The token readers must have. Null: none is required, which is allowed on loopback only. */
  readonly token: string | null
  /** The directory of the built page. */
  readonly assetsDir: string
  /** The leaderboard, if there is one. */
  readonly board?: Board | null
  /** Starts runs. Without it the server is read-only. */
  readonly writer?: ViewWriter | null
}

export interface ViewServer {
  /** Has no path: `http://127.0.0.1:8090`. */
  readonly origin: string
  close(): Promise<void>
}

const name = '([^/]+)'
const routes: readonly (readonly [pattern: RegExp, route: ViewRoute])[] = [
  [/^\/api\/health$/, health],
  [/^\/api\/sections$/, sections],
  [/^\/api\/jobs$/, jobs],
  [/^\/api\/board$/, boardRoute],
  [/^\/api\/board\.csv$/, csv],
  [new RegExp(`^/api/models/${name}$`), model],
  [/^\/api\/compare$/, compare],
  [/^\/api\/events$/, events],
  [new RegExp(`^/api/jobs/${name}$`), job],
  [new RegExp(`^/api/jobs/${name}/tasks$`), tasks],
  [new RegExp(`^/api/jobs/${name}/text$`), jobText],
  [new RegExp(`^/api/jobs/${name}/trials$`), trials],
  [new RegExp(`^/api/jobs/${name}/trials/${name}$`), trial],
  [new RegExp(`^/api/jobs/${name}/trials/${name}/steps$`), steps],
  [new RegExp(`^/api/jobs/${name}/trials/${name}/exchanges$`), exchanges],
  [new RegExp(`^/api/jobs/${name}/trials/${name}/text$`), text],
  [new RegExp(`^/api/jobs/${name}/trials/${name}/raw$`), raw],
  [/^\/api\/tasks$/, taskList],
  [new RegExp(`^/api/tasks/${name}$`), task],
  [new RegExp(`^/api/tasks/${name}/text$`), taskText],
  [new RegExp(`^/api/tasks/${name}/trials$`), taskTrials],
  [/^\/api\/data$/, datasetList],
  [new RegExp(`^/api/data/${name}/rows$`), datasetRows],
  [new RegExp(`^/api/data/${name}/rows/${name}$`), datasetRow],
  [new RegExp(`^/api/data/${name}/rows/${name}/text$`), datasetRowText],
  [new RegExp(`^/api/data/${name}/rows/${name}/similar$`), datasetSimilar],
  [new RegExp(`^/api/recipes/${name}$`), recipe],
  [new RegExp(`^/api/recipes/${name}/dropped/${name}$`), recipeDropped],
  [/^\/api\/runs$/, startedRuns],
  [/^\/api\/runs\/form$/, newRunForm],
  [new RegExp(`^/api/runs/from/${name}$`), runFromJob],
]

/** The POST routes of a server that was started with a writer. */
const writes: typeof routes = [
  [/^\/api\/runs$/, startRun],
  [/^\/api\/runs\/preview$/, previewRun],
  [new RegExp(`^/api/runs/${name}/stop$`), stopRun],
]

/** Only our own scripts run, nothing loads from elsewhere, and no other page may frame this one. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const headers = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** Serves a library's pages for reading; with a writer, readers can also start runs. */
export async function serveView(library: Library, settings: ViewServerSettings): Promise<ViewServer> {
  const { board = null, writer = null } = settings
  const readers = { trajectories: new Trajectories(), exchanges: new ExchangeReader(), board, writer }
  const closing = new AbortController()
  const server = createServer((message, response) => {
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, closing.signal])
    void handle({ library, ...readers, message, response, signal }, settings)
  })
  server.headersTimeout = 30_000
  server.maxConnections = 512
  const { origin, close } = await listen(server, settings)
  return {
    origin,
    async close() {
      closing.abort()
      await close()
      await readers.trajectories.close()
    },
  }
}

type Handled = Omit<Parameters<ViewRoute>[0], 'names' | 'query'>

async function handle(asked: Handled, settings: ViewServerSettings): Promise<void> {
  const { message, response } = asked
  try {
    for (const [key, value] of Object.entries(headers)) response.setHeader(key, value)
    const url = URL.parse(message.url ?? '/', 'http://here')
    if (!url) return sendJson(response, 400, { error: 'expected an address' })
    const isRead = message.method === 'GET' || message.method === 'HEAD'
    if (!isRead && (message.method !== 'POST' || !asked.writer)) {
      response.setHeader('allow', 'GET, HEAD')
      return sendJson(response, 405, { error: 'this server is read-only' })
    }
    if (!isOurHost(message, settings)) return sendJson(response, 403, { error: 'not served under this name' })
    if (settings.token !== null && isSameKey(url.searchParams.get('token'), settings.token))
      return rememberToken(response, message, settings.token)
    if (!hasToken(message, settings.token))
      return sendJson(response, 401, { error: 'open the address that ot-agent view printed: it holds a token' })
    if (!isRead) return await answer(asked, url, writes)
    if (url.pathname.startsWith('/api/')) return await answer(asked, url, routes)
    const asset = await assetFor(settings.assetsDir, url.pathname)
    if (asset) sendAsset(response, asset, message)
    else sendJson(response, 404, { error: 'there is no such page' })
  } catch (error) {
    if (response.headersSent || asked.signal.aborted) response.destroy()
    else sendError(response, error)
  }
}

async function answer(asked: Handled, url: URL, table: typeof routes): Promise<void> {
  // Refuse pages of other sites in the same browser, even though they could not read the answer.
  if (asked.message.headers['sec-fetch-site'] === 'cross-site')
    return sendJson(asked.response, 403, { error: 'not served to other sites' })
  for (const [pattern, route] of table) {
    const found = pattern.exec(url.pathname)
    if (!found) continue
    const names = found.slice(1).map(decoded)
    const body = await route({ ...asked, names, query: url.searchParams })
    if (body !== undefined) sendJson(asked.response, 200, body)
    return
  }
  sendJson(asked.response, 404, { error: 'there is no such address' })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new NotHere('the address is malformed')
  }
}

function sendError(response: ServerResponse, error: unknown): void {
  const known = error instanceof BoundaryError || codeOf(error) !== undefined
  if (error instanceof Refused) sendJson(response, error.status, { error: error.message })
  else if (error instanceof NotHere) sendJson(response, 404, { error: error.message })
  else if (error instanceof UserError) sendJson(response, 422, { error: error.message, hint: error.hint })
  else if (known) sendJson(response, 500, { error: messageOf(error).slice(0, 300) })
  else {
    sendJson(response, 500, { error: 'the server failed; its terminal shows the error' })
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(body))
}

function sendAsset(response: ServerResponse, { bytes, type, etag }: Asset, message: IncomingMessage): void {
  const fresh = message.headers['if-none-match'] === etag
  response.writeHead(fresh ? 304 : 200, { 'content-type': type, etag, 'cache-control': 'no-cache' })
  response.end(fresh || message.method === 'HEAD' ? undefined : bytes)
}

/**
 * Without a token, accepts only host names of this machine and IP addresses: a web page cannot point those elsewhere.
 */
function isOurHost({ headers: { host } }: IncomingMessage, { token, host: own }: ViewServerSettings): boolean {
  if (token !== null || host === undefined) return true
  const asked = URL.parse(`http://${host}`)?.hostname.replace(/^\[|\]$/g, '') ?? ''
  return isLoopback(asked) || asked === own || isIP(asked) !== 0
}

const cookie = 'ot-agent-view'

function hasToken({ headers: { cookie: cookies = '', authorization = '' } }: IncomingMessage, token: string | null) {
  if (token === null) return true
  const inCookie = cookies.split(/;\s*/).find((each) => each.startsWith(`${cookie}=`))
  const [, bearer] = /^Bearer (.+)$/i.exec(authorization) ?? []
  return isSameKey(inCookie?.slice(cookie.length + 1), token) || isSameKey(bearer, token)
}

/**
 * Moves the token from the URL to a cookie: in the address bar others could read it, or it could be copied along with a
 * link.
 */
function rememberToken(response: ServerResponse, message: IncomingMessage, token: string): void {
  const path = (message.url ?? '/').split('?')[0]?.replace(/^\/+/, '/') ?? '/'
  response.writeHead(303, { location: path, 'set-cookie': `${cookie}=${token}; HttpOnly; SameSite=Strict; Path=/` })
  response.end()
}
