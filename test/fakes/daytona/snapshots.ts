import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../../src/core/errors.ts'
import { extractTar } from '../../../src/lib/tar.ts'
import { bareImage, type Machines, type StandInImage } from '../machines.ts'
import { refuse, sendJson } from './answers.ts'
import type { Objects } from './objects.ts'

interface FakeSnapshot {
  readonly id: string
  readonly name: string
  readonly request: CreateSnapshot
  state: 'building' | 'active' | 'inactive' | 'build_failed'
  errorReason: string | null
  lastUsedAt: string
  image: StandInImage
  log: string
}

export interface CreateSnapshot {
  readonly name: string
  readonly cpu?: number
  readonly memory?: number
  readonly disk?: number
  readonly buildInfo?: { readonly dockerfileContent: string; readonly contextHashes?: readonly string[] }
}

/** The account's snapshots; Dockerfiles are really built, from this host's files. */
export class FakeSnapshots {
  readonly all = new Map<string, FakeSnapshot>()
  max = 100
  builds = 0

  constructor(
    private readonly machines: Machines,
    private readonly objects: Objects,
  ) {}

  /** The image that a snapshot's sandboxes start from; null if it cannot be used. */
  imageOf(name: string | undefined): StandInImage | null {
    if (name === undefined) return bareImage
    const found = this.all.get(name)
    if (found) found.lastUsedAt = new Date().toISOString()
    return found?.state === 'active' ? found.image : null
  }

  async handle(response: ServerResponse, route: string, url: URL, body: Buffer): Promise<unknown> {
    if (route === 'POST /snapshots') return this.create(response, JSON.parse(String(body)))
    if (route === 'GET /snapshots') return this.list(response, url)
    const [, method, key = '', rest] = /^(\w+) \/snapshots\/([^/]+)(\/.*)?$/.exec(route) ?? []
    const found = [...this.all.values()].find(({ id, name }) => id === key || name === key)
    if (!found) return refuse(response, 404, `Snapshot with name ${key} not found`)
    if (method === 'GET' && rest === '/build-logs-url')
      return sendJson(response, { url: `${url.origin}/snapshots/${found.id}/logs` })
    if (method === 'GET' && rest === '/logs') return response.end(found.log)
    if (method === 'POST' && rest === '/activate') found.state = 'active'
    if (method === 'DELETE') this.all.delete(found.name)
    sendJson(response, this.render(found))
  }

  private create(response: ServerResponse, request: CreateSnapshot): unknown {
    if (this.all.has(request.name)) return refuse(response, 409, `Snapshot with name ${request.name} already exists`)
    if (this.all.size >= this.max) return refuse(response, 403, `Snapshot quota exceeded. Maximum allowed: ${this.max}`)
    const made: FakeSnapshot = {
      id: randomUUID(),
      name: request.name,
      request,
      state: 'building',
      errorReason: null,
      lastUsedAt: new Date().toISOString(),
      image: bareImage,
      log: '',
    }
    this.all.set(request.name, made)
    this.builds++
    void this.build(made)
    sendJson(response, this.render(made))
  }

  private async build(made: FakeSnapshot): Promise<void> {
    const { dockerfileContent = '', contextHashes = [] } = made.request.buildInfo ?? {}
    const dir = mkdtempSync(join(tmpdir(), 'ot-daytona-build-'))
    try {
      for (const hash of contextHashes) {
        const archive = this.objects.get(`org/${hash}/context.tar`)
        if (!archive) throw new Error(`context ${hash} was not uploaded`)
        await extractTar(archive, dir, { links: 'inside', modes: 'kept', existing: 'merge' })
      }
      writeFileSync(join(dir, 'Dockerfile'), dockerfileContent)
      made.image = await this.machines.buildDockerfile(dir, (line) => {
        made.log += `${line}\n`
      })
      made.state = 'active'
    } catch (error) {
      made.errorReason = messageOf(error)
      made.state = 'build_failed'
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  }

  private list(response: ServerResponse, url: URL): void {
    const [page, limit] = [Number(url.searchParams.get('page') ?? 1), Number(url.searchParams.get('limit') ?? 100)]
    const all = [...this.all.values()].map((snapshot) => this.render(snapshot))
    const items = all.slice((page - 1) * limit, page * limit)
    sendJson(response, { items, total: all.length, page, totalPages: Math.max(1, Math.ceil(all.length / limit)) })
  }

  private render({ image: _, log: __, request, ...snapshot }: FakeSnapshot): object {
    const { cpu = 1, memory = 1, disk = 3 } = request
    return {
      ...snapshot,
      general: false,
      size: 1,
      entrypoint: null,
      cpu,
      gpu: 0,
      mem: memory,
      disk,
      createdAt: snapshot.lastUsedAt,
    }
  }
}
