import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Fault, Faults } from '../faults.ts'
import { answerDatasets } from './datasets.ts'
import { answerFiles } from './files.ts'
import { StoredRepo } from './repo.ts'

/** A request, as every part of the stand-in sees it. */
export interface HubCall {
  readonly hub: HubStandIn
  readonly method: string
  readonly url: URL
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  /** Null: not authenticated. */
  readonly user: string | null
  readonly response: ServerResponse
}

/**
 * Stands in for the Hugging Face Hub: the part of its API that its JavaScript and Python clients use for datasets, with
 * separate storage for large files, paged lists, redirects and ranges. It has no Xet, as is the case for many mirrors.
 */
export class HubStandIn {
  readonly faults = new Faults()
  readonly token = `hf_${'t'.repeat(34)}`
  readonly repos = new Map<string, StoredRepo>()
  /** Digests of large files, one entry for each complete upload. */
  readonly sent: string[] = []
  /** The byte counts after which the next downloads break off. */
  readonly cutAfterBytes: number[] = []
  /** Entries per page of a list. */
  pageSize = 3

  private constructor(private readonly server: Server) {}

  static async start(): Promise<HubStandIn> {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const hub = new HubStandIn(server)
    server.on('request', (request, response) => void hub.handle(request, response))
    return hub
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** The environment variables that make a program use this as the Hub. */
  get env(): Record<string, string> {
    return { HF_TOKEN: this.token, HF_ENDPOINT: this.url }
  }

  repo(name: string, isPrivate = false): StoredRepo {
    const repo = this.repos.get(name) ?? new StoredRepo(name, isPrivate)
    this.repos.set(name, repo)
    return repo
  }

  close(): void {
    this.server.closeAllConnections()
    this.server.close()
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url)
    const fault = this.faults.take(`${request.method} ${decodeURIComponent(url.pathname)}`)
    try {
      if (fault && !fault.late && (await strike(fault, request, response))) return
      const call = { ...this.askedBy(request, url, response), body: await bodyOf(request) }
      if (fault?.late) {
        await this.answer({ ...call, response: swallowed(response) })
        await strike(fault, request, response)
      } else await this.answer(call)
    } catch (error) {
      if (response.headersSent || request.destroyed) response.destroy()
      else sendJson(response, 500, { error: String(error) })
    }
  }

  private askedBy(request: IncomingMessage, url: URL, response: ServerResponse): Omit<HubCall, 'body'> {
    const given = request.headers.authorization?.replace(/^Bearer /, '')
    const user = given === undefined ? null : given === this.token ? 'me' : 'stranger'
    return { hub: this, method: request.method ?? 'GET', url, headers: request.headers, user, response }
  }

  private async answer(call: HubCall): Promise<unknown> {
    const { url, user, response } = call
    if (url.pathname.startsWith('/storage/')) return answerFiles(call)
    if (user === 'stranger') return sendJson(response, 401, { error: 'Invalid credentials in Authorization header' })
    if (url.pathname === '/api/whoami-v2')
      return user === null
        ? sendJson(response, 401, { error: 'Unauthorized' })
        : sendJson(response, 200, { type: 'user', id: 'u1', name: user, orgs: [], auth: { type: 'access_token' } })
    return url.pathname.includes('/resolve/') ? answerFiles(call) : answerDatasets(call)
  }
}

/** True if it replaced the response. */
async function strike({ what }: Fault, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  if (what === 'drop') {
    // In the middle of an upload, not before it.
    if (request.method === 'PUT') await new Promise((resolve) => request.once('data', resolve))
    request.socket.destroy()
    return true
  }
  if ('delayMs' in what) {
    await new Promise((resolve) => setTimeout(resolve, what.delayMs).unref())
    return false
  }
  await bodyOf(request)
  sendJson(response, what.answer, { error: what.message }, what.headers)
  return true
}

/** Discards a response without telling the client. */
function swallowed(response: ServerResponse): ServerResponse {
  return new Proxy(response, {
    get: (target, name) => {
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? () => target : value
    },
  })
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  response.end(text)
}
