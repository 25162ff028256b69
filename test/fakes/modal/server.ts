import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import {
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  status,
  type UntypedHandleCall,
} from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import type { OwnedMachine } from '../../../src/sandboxes/local/workshop.ts'
import { Faults } from '../faults.ts'
import { bareImage, Machines, type StandInImage } from '../machines.ts'
import { Execs } from './execs.ts'

export interface StandInSandbox {
  readonly id: string
  readonly taskId: string
  readonly owned: OwnedMachine
  readonly image: StandInImage
  readonly tags: { tagName: string; tagValue: string }[]
  readonly createdAt: number
  readonly timer: NodeJS.Timeout
}

interface Call {
  // biome-ignore lint/suspicious/noExplicitAny: messages are read from the .proto files when the program runs
  readonly request: any
}
type Answer = (error: { code: number; details: string } | null, value?: object) => void

/**
 * Stands in for Modal: the part of its two gRPC services that its package uses, with a real machine behind every
 * sandbox.
 */
export class ModalStandIn {
  readonly faults = new Faults()
  readonly sandboxes = new Map<string, StandInSandbox>()
  readonly images = new Map<string, StandInImage>()
  builds = 0
  private readonly byCommands = new Map<string, string>()
  private port = 0

  private constructor(
    private readonly server: Server,
    readonly machines: Machines,
  ) {}

  static async start(): Promise<ModalStandIn> {
    const server = new Server({ 'grpc.max_receive_message_length': 128 << 20 })
    const standIn = new ModalStandIn(server, await Machines.open())
    const execs = new Execs((taskId) => standIn.ofTask(taskId))
    standIn.serve('api.proto', 'modal.client.ModalClient', standIn.control())
    standIn.serve('router.proto', 'modal.task_command_router.TaskCommandRouter', {
      ...execs.handlers(),
      TaskSnapshotFilesystem: unary(standIn.faults, 'TaskSnapshotFilesystem', async ({ taskId }) => {
        const sandbox = standIn.ofTask(taskId)
        if (!sandbox) throw refusal(status.NOT_FOUND, 'no such task')
        const layer = await standIn.machines.copyLayer(sandbox.owned)
        const imageId = `im-${randomBytes(8).toString('hex')}`
        standIn.images.set(imageId, { ...sandbox.image, layers: [...sandbox.image.layers, layer] })
        return { imageId }
      }),
    })
    standIn.port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      ),
    )
    return standIn
  }

  /** The environment variables that make a program use this as Modal. */
  get env(): Record<string, string> {
    return {
      MODAL_SERVER_URL: `http://127.0.0.1:${this.port}`,
      MODAL_TOKEN_ID: 'ak-stand-in',
      MODAL_TOKEN_SECRET: 'as-stand-in',
      MODAL_CONFIG_PATH: '/nonexistent/modal.toml',
    }
  }

  async close(): Promise<void> {
    this.server.forceShutdown()
    await Promise.all([...this.sandboxes.keys()].map((id) => this.terminate(id)))
    await this.machines.close()
  }

  async terminate(id: string): Promise<void> {
    const sandbox = this.sandboxes.get(id)
    if (!sandbox) throw refusal(status.NOT_FOUND, `no sandbox ${id}`)
    this.sandboxes.delete(id)
    clearTimeout(sandbox.timer)
    await sandbox.owned.dispose()
  }

  private ofTask(taskId: string): StandInSandbox | undefined {
    return [...this.sandboxes.values()].find((sandbox) => sandbox.taskId === taskId)
  }

  private serve(file: string, service: string, handlers: Record<string, UntypedHandleCall>): void {
    const loaded = loadPackageDefinition(loadSync(join(import.meta.dirname, file), { longs: Number, defaults: true }))
    // biome-ignore lint/suspicious/noExplicitAny: a tree of packages
    const found = service.split('.').reduce((at: any, name) => at[name], loaded) as { service: ServiceDefinition }
    this.server.addService(found.service, handlers)
  }

  private control(): Record<string, UntypedHandleCall> {
    const on = (name: string, work: (request: Call['request']) => Promise<object>) => ({
      [name]: unary(this.faults, name, work),
    })
    const access = () => ({ jwt: token(), url: `https://127.0.0.1:${this.port}` })
    const known = (id: string) => {
      const sandbox = this.sandboxes.get(id)
      if (!sandbox) throw refusal(status.NOT_FOUND, `no sandbox ${id}`)
      return sandbox
    }
    return {
      ...on('AuthTokenGet', async () => ({ token: token() })),
      ...on('AppGetOrCreate', async ({ appName }) => ({ appId: `ap-${appName}` })),
      ...on('EnvironmentGetOrCreate', async () => ({
        environmentId: 'en-main',
        metadata: { name: 'main', settings: { imageBuilderVersion: '2025.06' } },
      })),
      ...on('ImageGetOrCreate', async ({ image }) => this.build(image)),
      ...on('SandboxCreateV2', async (request) => {
        const sandbox = await this.create(request)
        return { sandboxId: sandbox.id, taskId: sandbox.taskId, commandRouterAccess: access() }
      }),
      ...on('SandboxGetTaskIdV2', async ({ sandboxId }) => ({ taskId: known(sandboxId).taskId })),
      ...on('SandboxGetCommandRouterAccess', async ({ sandboxId }) => known(sandboxId) && access()),
      ...on('SandboxTagsGetV2', async ({ sandboxId }) => ({ tags: known(sandboxId).tags })),
      ...on('SandboxListV2', async ({ beforeTimestamp, tags }) => ({ sandboxes: this.list(beforeTimestamp, tags) })),
      ...on('SandboxTerminateV2', async ({ sandboxId }) => {
        await this.terminate(sandboxId)
        return {}
      }),
      ...on('SandboxWaitV2', async ({ sandboxId }) => (this.sandboxes.has(sandboxId) ? {} : { result: { status: 3 } })),
    }
  }

  private list(before: number, tags: { tagName: string; tagValue: string }[]) {
    return [...this.sandboxes.values()]
      .filter((sandbox) => !before || sandbox.createdAt < before)
      .filter((sandbox) =>
        tags.every((tag) => sandbox.tags.some((own) => own.tagName === tag.tagName && own.tagValue === tag.tagValue)),
      )
      .sort((a, b) => b.createdAt - a.createdAt)
      .map(({ id, createdAt, tags: own }) => ({ id, createdAt, tags: own }))
  }

  private async create({ definition, tags }: Call['request']): Promise<StandInSandbox> {
    const image = this.images.get(definition.imageId)
    if (!image) throw refusal(status.NOT_FOUND, `no image ${definition.imageId}`)
    const id = `sb-${randomUUID()}`
    const blocked = definition.blockNetwork || definition.networkAccess?.networkAccessType === 2
    const memoryMb = definition.resources?.memoryMbMax || definition.resources?.memoryMb
    const owned = await this.machines.start({
      image,
      network: blocked ? 'none' : 'public',
      ...(memoryMb && { memoryMb }),
    })
    const timer = setTimeout(() => void this.terminate(id).catch(() => {}), definition.timeoutSecs * 1000)
    const sandbox = { id, taskId: `ta-${id}`, owned, image, tags: tags ?? [], createdAt: Date.now() / 1000, timer }
    this.sandboxes.set(id, sandbox)
    return sandbox
  }

  /** Like the real one, reuses what it built from the same commands. */
  private async build({ baseImages, dockerfileCommands }: Call['request']): Promise<object> {
    const key = JSON.stringify([baseImages, dockerfileCommands])
    const known = this.byCommands.get(key)
    if (known) return { imageId: known, result: { status: 1 } }
    const imageId = `im-${randomBytes(8).toString('hex')}`
    const from = this.images.get(baseImages?.[0]?.imageId ?? '') ?? bareImage
    const runs = (dockerfileCommands as string[]).filter((line) => line.startsWith('RUN ')).map((line) => line.slice(4))
    let image = from
    if (runs.length > 0) {
      this.builds++
      try {
        const layer = await this.machines.makeLayer(from, async (machine) => {
          for (const line of runs) {
            const { exitCode, stderr } = await machine.exec(['sh', '-c', line], { cwd: '/' })
            if (exitCode !== 0) throw new Error(`${line.slice(0, 80)}: exit ${exitCode}: ${stderr.slice(-300)}`)
          }
        })
        image = { ...from, layers: [...from.layers, layer] }
      } catch (error) {
        return { imageId, result: { status: 2, exception: String(error) } }
      }
    }
    this.images.set(imageId, image)
    this.byCommands.set(key, imageId)
    return { imageId, result: { status: 1 } }
  }
}

/** One request and one response; faults come first. */
export function unary(
  faults: Faults,
  name: string,
  work: (request: Call['request']) => Promise<object>,
): UntypedHandleCall {
  return (call: Call, answer: Answer) => {
    const handle = async () => {
      const fault = faults.take(name)
      if (fault && typeof fault.what === 'object' && 'delayMs' in fault.what)
        await new Promise((resolve) => setTimeout(resolve, (fault.what as { delayMs: number }).delayMs))
      else if (fault) {
        if (fault.late) await work(call.request)
        throw fault.what === 'drop'
          ? refusal(status.CANCELLED, 'the connection broke')
          : refusal((fault.what as { answer: number }).answer, (fault.what as { message: string }).message)
      }
      return work(call.request)
    }
    handle().then(
      (value) => answer(null, value),
      (error) => answer('code' in error ? error : { code: status.INTERNAL, details: String(error) }),
    )
  }
}

export function refusal(code: number, details: string) {
  return Object.assign(new Error(details), { code, details })
}

/** Any three-part token that expires far in the future. */
function token(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part({ exp: Math.floor(Date.now() / 1000) + 86_400 })}.x`
}
