import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { messageOf } from '../../../src/core/errors.ts'
import { sleep } from '../../../src/lib/deadline.ts'
import { Faults } from '../faults.ts'
import { Machines, type StandInImage } from '../machines.ts'
import { refuse, sendJson } from './answers.ts'
import { Objects } from './objects.ts'
import { type CreateRequest, FakeSandbox } from './sandbox.ts'
import { FakeSnapshots } from './snapshots.ts'
import { Toolbox } from './toolbox.ts'

/** The only key that the stand-in accepts. */
export const apiKey = 'dtn_stand-in-key'

/** The part of Daytona's service that its package uses, on real machines on this host, with any faults a test wants. */
export class FakeDaytona {
  readonly faults = new Faults()
  readonly sandboxes = new Map<string, FakeSandbox>()
  readonly toolboxes = new Map<string, Toolbox>()
  readonly snapshots: FakeSnapshots
  readonly objects = new Objects()
  /** How long a sandbox takes to start. */
  startMs = 0
  maxSandboxes = 1000
  /** Number of sandboxes ever created. */
  created = 0
  private nowMin = 0
  private readonly sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => [...offered].at(-1) ?? false,
  })

  private constructor(
    readonly url: string,
    private readonly http: Server,
    readonly machines: Machines,
  ) {
    this.snapshots = new FakeSnapshots(machines, this.objects)
  }

  static async open(): Promise<FakeDaytona> {
    const http = createServer()
    http.listen(0, '127.0.0.1')
    await once(http, 'listening')
    const { port } = http.address() as AddressInfo
    const server = new FakeDaytona(`http://127.0.0.1:${port}`, http, await Machines.open())
    http.on('request', (request, response) => void server.receive(request, response))
    http.on('upgrade', (request, socket, head) => void server.upgrade(request, socket, head))
    return server
  }

  /** Variables that point a client at this server. */
  get env(): Record<string, string> {
    return { DAYTONA_API_KEY: apiKey, DAYTONA_API_URL: this.url, DAYTONA_TARGET: 'here' }
  }

  async close(): Promise<void> {
    this.http.closeAllConnections()
    this.http.close()
    this.sockets.close()
    while ([...this.sandboxes.values()].some(({ state }) => state === 'creating')) await sleep(20)
    await this.machines.close()
  }

  /** Advances the clock for the provider's own limits. */
  async passMinutes(minutes: number): Promise<void> {
    this.nowMin += minutes
    for (const box of [...this.sandboxes.values()]) {
      const { autoStopInterval = 15, autoDeleteInterval = -1, ttlMinutes = 0 } = box.request
      const isOver = ttlMinutes > 0 && this.nowMin - box.createdMin >= ttlMinutes
      if (autoStopInterval > 0 && box.state === 'started' && this.nowMin - box.activeMin >= autoStopInterval)
        await this.stop(box)
      const isKept = autoDeleteInterval < 0 || this.nowMin - box.stoppedMin < autoDeleteInterval
      if (isOver || (box.state === 'stopped' && !isKept)) await this.destroy(box)
    }
  }

  /** Removes a sandbox as a broken host would. */
  async lose(id: string): Promise<void> {
    const box = this.sandboxes.get(id)
    if (box) await this.destroy(box)
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const url = new URL(request.url ?? '/', this.url)
    const fault = this.faults.take(`${request.method} ${url.pathname}`)
    try {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const body = Buffer.concat(chunks)
      if (fault?.late) await this.answer(request, new Discarded() as unknown as ServerResponse, url, body)
      if (fault?.what === 'drop') return request.socket.destroy()
      if (fault && 'answer' in fault.what) {
        for (const [name, value] of Object.entries(fault.what.headers ?? {})) response.setHeader(name, value)
        return refuse(response, fault.what.answer, fault.what.message)
      }
      if (fault && 'delayMs' in fault.what) await sleep(fault.what.delayMs)
      await this.answer(request, response, url, body)
    } catch (error) {
      if (!response.headersSent) refuse(response, 500, messageOf(error))
      else response.destroy()
    }
  }

  private async answer(request: IncomingMessage, response: ServerResponse, url: URL, body: Buffer): Promise<unknown> {
    const { pathname } = url
    if (pathname.startsWith('/storage/')) return this.objects.handle(request, response, url, body)
    if (request.headers.authorization !== `Bearer ${apiKey}`) return refuse(response, 401, 'Invalid credentials')
    const route = `${request.method} ${pathname}`
    const [, id = '', inside = ''] = /^\/toolbox\/([^/]+)(\/.*)$/.exec(pathname) ?? []
    if (inside) return this.atToolbox(id, request, response, { path: inside, body })
    if (pathname.startsWith('/snapshots')) return this.snapshots.handle(response, route, url, body)
    if (route === 'GET /object-storage/push-access') {
      const access = {
        accessKey: 'a',
        secret: 's',
        sessionToken: 't',
        bucket: 'contexts',
        region: 'here',
        organizationId: 'org',
      }
      return sendJson(response, { storageUrl: `${this.url}/storage`, ...access })
    }
    if (route === 'POST /sandbox') return this.create(response, JSON.parse(String(body)))
    if (route === 'GET /sandbox') return this.list(response, url)
    return this.atSandbox(response, route, body)
  }

  private async atToolbox(id: string, request: IncomingMessage, response: ServerResponse, { path, body }: ToolboxCall) {
    const [box, toolbox] = [this.sandboxes.get(id), this.toolboxes.get(id)]
    if (!box || !toolbox) return refuse(response, 404, `Sandbox ${id} not found`)
    if (box.state !== 'started') return refuse(response, 400, `Sandbox is not running: ${box.state}`)
    box.activeMin = this.nowMin
    await toolbox.handle(request, response, path, body)
  }

  private async atSandbox(response: ServerResponse, route: string, body: Buffer): Promise<void> {
    const [, method, key = '', verb = ''] = /^(\w+) \/sandbox\/([^/]+)(?:\/(.+))?$/.exec(route) ?? []
    const box = [...this.sandboxes.values()].find(({ id, name }) => id === key || name === key)
    if (!box) return refuse(response, 404, `Sandbox ${key} not found`)
    if (method === 'DELETE') {
      if (box.state === 'creating') return refuse(response, 409, 'Sandbox state change in progress')
      box.state = 'destroying'
      await this.destroy(box)
    } else if (method === 'POST' && verb === 'stop') void this.stop(box)
    else if (method === 'POST' && verb === 'start') void this.start(box)
    else if (method === 'POST' && verb === 'last-activity') box.activeMin = this.nowMin
    else if (method === 'POST' && verb === 'network-settings') this.setNetwork(box, JSON.parse(String(body)))
    else if (method !== 'GET' || verb !== '') return refuse(response, 404, `there is no ${route}`)
    sendJson(response, box.render())
  }

  private create(response: ServerResponse, request: CreateRequest): unknown {
    if ([...this.sandboxes.values()].some(({ name }) => name === request.name))
      return refuse(response, 409, `Sandbox with name ${request.name} already exists`)
    if (this.sandboxes.size >= this.maxSandboxes)
      return refuse(response, 400, `Total CPU limit exceeded. Maximum allowed: ${this.maxSandboxes}.`)
    const image = this.snapshots.imageOf(request.snapshot)
    if (!image) return refuse(response, 400, `Snapshot ${request.snapshot} not found`)
    const box = new FakeSandbox(randomUUID(), request, `${this.url}/toolbox`, this.nowMin)
    this.sandboxes.set(box.id, box)
    this.created++
    void this.boot(box, image)
    sendJson(response, box.render())
  }

  private async boot(box: FakeSandbox, image: StandInImage): Promise<void> {
    try {
      const network = box.request.networkBlockAll ? 'none' : 'public'
      box.machine = await this.machines.start({ image, network })
      await sleep(this.startMs)
      this.toolboxes.set(box.id, new Toolbox(box.machine.machine))
      box.state = 'started'
    } catch (error) {
      box.errorReason = messageOf(error)
      box.state = 'error'
    }
  }

  private setNetwork(box: FakeSandbox, network: FakeSandbox['network']): void {
    box.network = network
    if (box.machine) box.machine.machine.network = network.networkBlockAll ? 'none' : 'public'
  }

  private async stop(box: FakeSandbox): Promise<void> {
    box.state = 'stopping'
    await box.machine?.machine.restart()
    box.stoppedMin = this.nowMin
    box.state = 'stopped'
  }

  private async start(box: FakeSandbox): Promise<void> {
    box.state = 'starting'
    await sleep(this.startMs)
    box.activeMin = this.nowMin
    if (box.machine) this.toolboxes.set(box.id, new Toolbox(box.machine.machine))
    box.state = 'started'
  }

  private async destroy(box: FakeSandbox): Promise<void> {
    this.toolboxes.delete(box.id)
    await box.machine?.dispose()
    this.sandboxes.delete(box.id)
  }

  private list(response: ServerResponse, url: URL): void {
    const labels = Object.entries(JSON.parse(url.searchParams.get('labels') ?? '{}') as Record<string, string>)
    const [limit, from] = [Number(url.searchParams.get('limit') ?? 100), Number(url.searchParams.get('cursor') ?? 0)]
    const all = [...this.sandboxes.values()].filter(({ request }) =>
      labels.every(([name, value]) => request.labels?.[name] === value),
    )
    const items = all.slice(from, from + limit).map((box) => box.render())
    sendJson(response, { items, nextCursor: from + limit < all.length ? String(from + limit) : null })
  }

  private async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<unknown> {
    const url = new URL(request.url ?? '/', this.url)
    const fault = this.faults.take(`WS ${url.pathname}`)
    const id = /^\/toolbox\/([^/]+)\//.exec(url.pathname)?.[1] ?? ''
    const toolbox = this.toolboxes.get(id)
    if (fault || !toolbox || request.headers.authorization !== `Bearer ${apiKey}`) return socket.destroy()
    this.sockets.handleUpgrade(request, socket, head, (opened) => void toolbox.connect(opened, url))
  }
}

interface ToolboxCall {
  readonly path: string
  readonly body: Buffer
}

/** Accepts a response that is never sent: the request was carried out, and the client never learns of it. */
class Discarded {
  statusCode = 200
  headersSent = false
  setHeader(): void {}
  write(): void {}
  end(): void {}
  destroy(): void {}
}
