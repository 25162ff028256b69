import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Faults } from '../faults.ts'
import { Machines } from '../machines.ts'
import { Control } from './control.ts'
import { handleEnvd } from './envd.ts'

/**
 * Stands in for E2B: the part of its API that its package uses, with a real machine behind every sandbox. One port
 * serves both the account's API and the services inside; a header that names the sandbox selects the latter.
 */
export class E2bStandIn {
  readonly faults = new Faults()
  readonly apiKey = `e2b_${'0'.repeat(40)}`

  private constructor(
    private readonly server: Server,
    readonly machines: Machines,
    readonly control: Control,
  ) {}

  static async start(): Promise<E2bStandIn> {
    const machines = await Machines.open()
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const standIn = new E2bStandIn(server, machines, new Control(machines, url))
    server.on('request', (request, response) => void standIn.handle(request, response))
    return standIn
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** The environment variables that make a program use this as E2B. */
  get env(): Record<string, string> {
    return { E2B_API_KEY: this.apiKey, E2B_API_URL: this.url, E2B_SANDBOX_URL: this.url }
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await this.control.close()
    await this.machines.close()
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url)
    // The whole request has arrived: a client that disconnects from here on does not cancel it.
    if ((await bodyOf(request).catch(() => null)) === null) return
    const fault = this.faults.take(`${request.method} ${url.pathname}`)
    try {
      if (fault && typeof fault.what === 'object' && 'delayMs' in fault.what) await pause(fault.what.delayMs)
      else if (fault && !fault.late) return fail(response, fault.what)
      if (fault?.late) {
        await this.route(request, url, discarded(response))
        return fail(response, fault.what)
      }
      await this.route(request, url, response)
    } catch (error) {
      if (!response.headersSent) json(response, 500, { code: 500, message: String(error) })
      else response.destroy()
    }
  }

  private async route(request: IncomingMessage, url: URL, response: ServerResponse): Promise<void> {
    const sandboxId = request.headers['e2b-sandbox-id']
    if (typeof sandboxId === 'string') {
      const sandbox = this.control.sandboxes.get(sandboxId)
      if (sandbox?.state !== 'running') return json(response, 502, { code: 502, message: 'The sandbox was not found' })
      return handleEnvd(sandbox, request, url, response)
    }
    if (url.pathname.startsWith('/upload/')) return this.control.handle(request, url, response)
    if (request.headers['x-api-key'] !== this.apiKey)
      return json(response, 401, { code: 401, message: 'Invalid API key' })
    return this.control.handle(request, url, response)
  }
}

/** Swallows a response. */
function discarded(response: ServerResponse): ServerResponse {
  return new Proxy(response, {
    get: (target, name) => {
      if (name === 'headersSent') return false
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? () => target : value
    },
  })
}

function fail(
  response: ServerResponse,
  what: 'drop' | { answer?: number; message?: string; headers?: Record<string, string> } | { delayMs: number },
): void {
  if (what === 'drop') return void response.socket?.destroy()
  if (!('answer' in what)) return
  const status = what.answer ?? 500
  json(response, status, { code: status, message: what.message ?? '' }, what.headers)
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const text = body === undefined ? '' : JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  response.end(text)
}

const bodies = new WeakMap<IncomingMessage, Promise<Buffer>>()

/** A request's body, which can be read more than once. */
export function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const known = bodies.get(request) ?? readBody(request)
  bodies.set(request, known)
  return known
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
