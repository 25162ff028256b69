import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { OwnedMachine } from '../../../src/sandboxes/local/workshop.ts'
import { bareImage, type Machines, type StandInImage } from '../machines.ts'
import { buildTemplate, type TemplateBody } from './build.ts'
import type { RunningProcess } from './envd.ts'
import { bodyOf, json } from './server.ts'

export interface StandInSandbox {
  readonly id: string
  readonly owned: OwnedMachine
  readonly metadata: Record<string, string>
  readonly env: Record<string, string>
  readonly processes: Map<number, RunningProcess>
  readonly startedAt: Date
  state: 'running' | 'paused'
  endAt: Date
  timer: NodeJS.Timeout
}

interface Template {
  readonly name: string
  readonly memoryMB: number | undefined
  image: StandInImage
  status: 'waiting' | 'building' | 'ready' | 'error'
  reason: string
  readonly logs: string[]
}

interface CreateBody {
  readonly templateID: string
  readonly timeout?: number
  readonly metadata?: Record<string, string>
  readonly envVars?: Record<string, string>
  readonly allow_internet_access?: boolean
}

/** The account: its sandboxes and templates. */
export class Control {
  readonly sandboxes = new Map<string, StandInSandbox>()
  readonly templates = new Map<string, Template>([
    ['base', { name: 'base', memoryMB: undefined, image: bareImage, status: 'ready', reason: '', logs: [] }],
  ])
  /** How many templates were really built. */
  builds = 0
  private readonly uploads = new Map<string, Buffer>()

  constructor(
    private readonly machines: Machines,
    private readonly url: string,
  ) {}

  async handle(request: IncomingMessage, url: URL, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request)
    const parsed =
      request.headers['content-type']?.includes('json') && body.length > 0 ? JSON.parse(body.toString()) : {}
    const at = `${request.method} ${url.pathname}`
    const [, id = ''] = /\/sandboxes\/([^/]+)/.exec(url.pathname) ?? []
    if (at === 'POST /v2/sandboxes' || at === 'POST /sandboxes') return this.create(parsed, response)
    if (at === 'GET /v2/sandboxes') return this.list(url, response)
    if (id !== '') return this.handleSandbox(at, id, parsed, response)
    return this.handleTemplate(at, body, parsed, response)
  }

  async close(): Promise<void> {
    await Promise.all([...this.sandboxes.keys()].map((id) => this.kill(id)))
  }

  async kill(id: string): Promise<boolean> {
    const sandbox = this.sandboxes.get(id)
    if (!sandbox) return false
    this.sandboxes.delete(id)
    clearTimeout(sandbox.timer)
    await sandbox.owned.dispose()
    return true
  }

  private async create(body: CreateBody, response: ServerResponse): Promise<void> {
    const template = this.templates.get(body.templateID)
    if (template?.status !== 'ready')
      return json(response, 404, { code: 404, message: `template '${body.templateID}' not found` })
    const id = `i${randomBytes(9).toString('hex')}`
    const timeoutSec = body.timeout ?? 300
    const owned = await this.machines.start({
      image: template.image,
      network: body.allow_internet_access === false ? 'none' : 'public',
      ...(template.memoryMB && { memoryMb: template.memoryMB }),
    })
    this.sandboxes.set(id, {
      id,
      owned,
      metadata: body.metadata ?? {},
      env: body.envVars ?? {},
      processes: new Map(),
      startedAt: new Date(),
      state: 'running',
      endAt: new Date(Date.now() + timeoutSec * 1000),
      timer: setTimeout(() => void this.kill(id), timeoutSec * 1000),
    })
    json(response, 201, this.handleOf(id, body.templateID))
  }

  private handleOf(sandboxID: string, templateID: string) {
    return { sandboxID, templateID, clientID: 'stand-in', envdVersion: '0.6.4', envdAccessToken: 'token' }
  }

  /** The package encodes its search filter three times. */
  private list(url: URL, response: ServerResponse): void {
    const wanted = [...new URLSearchParams(url.searchParams.get('metadata') ?? '')].map(([key, value]) => [
      decodeURIComponent(key),
      decodeURIComponent(value),
    ])
    const found = [...this.sandboxes.values()].filter(({ metadata }) =>
      wanted.every(([key = '', value]) => metadata[key] === value),
    )
    const limit = Number(url.searchParams.get('limit') ?? 100)
    const from = Number(url.searchParams.get('nextToken') ?? 0)
    const page = found.slice(from, from + limit).map((sandbox) => this.infoOf(sandbox))
    const next: Record<string, string> = from + limit < found.length ? { 'x-next-token': String(from + limit) } : {}
    json(response, 200, page, next)
  }

  private infoOf({ id, metadata, startedAt, endAt, state }: StandInSandbox) {
    const common = { cpuCount: 2, memoryMB: 512, diskSizeMB: 1024, envdVersion: '0.6.4', clientID: 'stand-in' }
    return { sandboxID: id, templateID: 'base', metadata, startedAt, endAt, state, ...common }
  }

  private async handleSandbox(
    at: string,
    id: string,
    body: { timeout?: number; memory?: boolean; allow_internet_access?: boolean; denyOut?: string[] },
    response: ServerResponse,
  ): Promise<void> {
    const sandbox = this.sandboxes.get(id)
    if (!sandbox) return json(response, 404, { code: 404, message: `sandbox ${id} not found` })
    const action = at.replace(/^(\w+) .*\/sandboxes\/[^/]+/, '$1 ')
    switch (action) {
      case 'GET ':
        return json(response, 200, this.infoOf(sandbox))
      case 'DELETE ':
        await this.kill(id)
        return json(response, 204, undefined)
      case 'POST /timeout':
        clearTimeout(sandbox.timer)
        sandbox.timer = setTimeout(() => void this.kill(id), (body.timeout ?? 300) * 1000)
        sandbox.endAt = new Date(Date.now() + (body.timeout ?? 300) * 1000)
        return json(response, 204, undefined)
      case 'PUT /network':
        sandbox.owned.machine.network = body.allow_internet_access === false || body.denyOut ? 'none' : 'public'
        return json(response, 204, undefined)
      case 'POST /pause':
        if (sandbox.state === 'paused') return json(response, 409, { code: 409, message: 'already paused' })
        sandbox.state = 'paused'
        // Without its memory, a machine comes back as after a power failure.
        if (body.memory === false) await sandbox.owned.machine.restart()
        return json(response, 204, undefined)
      case 'POST /connect':
        sandbox.state = 'running'
        return json(response, 200, this.handleOf(id, 'base'))
      default:
        return json(response, 501, { code: 501, message: `the stand-in does not know ${at}` })
    }
  }

  private async handleTemplate(at: string, body: Buffer, parsed: unknown, response: ServerResponse): Promise<void> {
    const [, alias] = /^GET \/templates\/aliases\/([^/]+)$/.exec(at) ?? []
    if (alias !== undefined) {
      const known = this.templates.get(decodeURIComponent(alias))?.status === 'ready'
      return json(
        response,
        known ? 200 : 404,
        known ? { templateID: alias, public: false } : { code: 404, message: 'no such alias' },
      )
    }
    if (at === 'POST /v3/templates') {
      const { name, memoryMB } = parsed as { name: string; memoryMB?: number }
      this.templates.set(name, { name, memoryMB, image: bareImage, status: 'waiting', reason: '', logs: [] })
      return json(response, 202, {
        templateID: name,
        buildID: `b-${name}`,
        public: false,
        names: [name],
        tags: [],
        aliases: [name],
      })
    }
    const [, hash] = /\/files\/([^/]+)$/.exec(at) ?? []
    if (hash !== undefined)
      return json(response, 201, { present: this.uploads.has(hash), url: `${this.url}/upload/${hash}` })
    const [, upload] = /^PUT \/upload\/(.+)$/.exec(at) ?? []
    if (upload !== undefined) {
      this.uploads.set(upload, body)
      return json(response, 200, {})
    }
    const [, name = '', status] = /\/templates\/([^/]+)\/builds\/[^/]+(\/status)?$/.exec(at) ?? []
    const template = this.templates.get(name)
    if (!template) return json(response, 404, { code: 404, message: `no template ${name}` })
    if (status === undefined) {
      void this.build(template, parsed as TemplateBody)
      return json(response, 202, undefined)
    }
    json(response, 200, this.statusOf(template))
  }

  private statusOf({ name, status, reason }: Template) {
    const failure = status === 'error' ? { reason: { message: reason } } : {}
    return { buildID: `b-${name}`, templateID: name, status, logEntries: [], logs: [], ...failure }
  }

  private async build(template: Template, body: TemplateBody): Promise<void> {
    template.status = 'building'
    this.builds++
    try {
      const from =
        body.fromTemplate === undefined ? bareImage : (this.templates.get(body.fromTemplate)?.image ?? bareImage)
      template.image = await buildTemplate(this.machines, from, body, (hash) => this.uploads.get(hash))
      template.status = 'ready'
    } catch (error) {
      template.reason = String(error)
      template.status = 'error'
    }
  }
}
