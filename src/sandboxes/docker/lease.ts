import { posix } from 'node:path'
import type { Duplex } from 'node:stream'
import { BoundaryError } from '../../core/errors.ts'
import type {
  Door,
  DownloadOptions,
  ExecOptions,
  ExecResult,
  Frozen,
  SandboxFacts,
  SandboxLease,
  Terminal,
  TerminalOptions,
} from '../../core/sandbox.ts'
import type { Healthcheck, Network } from '../../core/task.ts'
import { frameOf, openDoor } from '../namespaces/door.ts'
import { Commands, gone, isRoot } from './commands.ts'
import type { ComposeProject } from './compose/project.ts'
import {
  type ContainerSpec,
  commitContainer,
  inspectContainer,
  type MountedVolume,
  makeVolume,
  networkMode,
  removeContainer,
  removeImage,
  removeVolume,
  startContainer,
  stopContainer,
} from './container.ts'
import { type Engine, url } from './engine.ts'
import { frozenRepo } from './labels.ts'
import type { PublicNetwork } from './public-network.ts'
import { openTerminal } from './terminal.ts'
import { asRoot, downloadDir, type Place, readFile, uploadDir, writeFile } from './transfer.ts'

/** What a verifier gets fresh: paths where no file of the agent's can be. */
const freshPaths = ['/tests', '/logs/verifier']
const makeLogs =
  'for d in /logs/agent /logs/verifier /logs/artifacts; do [ -d $d ] && [ ! -h $d ] || { rm -rf $d; mkdir -p $d; }; chmod 777 $d || exit 1; done'

export interface LeaseOptions {
  readonly engine: Engine
  readonly id: string
  readonly workdir: string
  readonly spec: Omit<ContainerSpec, 'name' | 'network'>
  readonly network: Network
  readonly publicNetwork: PublicNetwork
  readonly facts: SandboxFacts
  readonly healthcheck: Healthcheck | null
  readonly verify: 'fresh' | 'shared'
  /** Starts the container among those of a compose file; null for a container on its own. */
  readonly project: ComposeProject | null
  /** One line of news, for the trial's log. */
  readonly log: ((line: string) => void) | undefined
}

/** A container in its owner's hands. A freeze replaces it by another over the same files; the handle stays. */
export class DockerLease implements SandboxLease {
  private commands: Commands
  private generation = 0
  private network: Network
  private readonly doors = new Set<Door>()
  /** Everything made for this sandbox, named before it was made. */
  private readonly made = { containers: new Set<string>(), volumes: new Set<string>(), images: new Set<string>() }
  private working: Promise<unknown> = Promise.resolve()
  private disposing: Promise<void> | undefined

  private constructor(private readonly options: LeaseOptions) {
    this.network = options.network
    this.commands = this.makeCommands()
  }

  /** Starts the container; whatever goes wrong, nothing of it is left. */
  static async open(options: LeaseOptions, signal: AbortSignal | undefined): Promise<DockerLease> {
    const lease = new DockerLease(options)
    try {
      signal?.throwIfAborted()
      await lease.start(options.spec)
      signal?.throwIfAborted()
      return lease
    } catch (error) {
      await lease[Symbol.asyncDispose]()
      throw error
    }
  }

  get id(): string {
    return this.options.id
  }

  get workdir(): string {
    return this.options.workdir
  }

  get facts(): SandboxFacts {
    return this.options.facts
  }

  get healthcheck(): Healthcheck | null {
    return this.options.healthcheck
  }

  async alive(): Promise<boolean> {
    if (this.disposing) return false
    return this.commands.revive().then(
      () => true,
      () => false,
    )
  }

  async exec(argv: readonly string[], options?: ExecOptions): Promise<ExecResult> {
    return this.live().exec(argv, options)
  }

  async read(path: string): Promise<Uint8Array> {
    return readFile(this.place(), path)
  }

  async write(path: string, data: string | Uint8Array, options: { readonly mode?: number } = {}): Promise<void> {
    return writeFile(this.live(), path, data, options.mode ?? 0o644)
  }

  async uploadDir(source: string, target: string): Promise<void> {
    return uploadDir(this.options.engine, this.live(), source, target)
  }

  async downloadDir(source: string, target: string, options: DownloadOptions = {}): Promise<void> {
    return downloadDir(this.place(), posix.normalize(source), target, options)
  }

  async openTerminal(options: TerminalOptions = {}): Promise<Terminal> {
    const { engine, workdir: cwd, spec } = this.options
    await this.live().revive()
    return openTerminal({ engine, commands: this.live(), user: spec.user, cwd }, options)
  }

  async openDoor(accept: (socket: Duplex) => void): Promise<Door> {
    this.live()
    await this.commands.revive()
    const state = await inspectContainer(this.options.engine, this.container)
    if (!state?.running) throw gone()
    const door = await openDoor(frameOf(state.pid, 'it needs root, or an engine that runs as you'), accept)
    this.doors.add(door)
    return door
  }

  async setNetwork(network: Network): Promise<void> {
    this.live()
    const { engine, publicNetwork } = this.options
    const wanted = networkMode(network, publicNetwork.name)
    const connected = (await inspectContainer(engine, this.container))?.networks ?? []
    const change = (how: 'connect' | 'disconnect', name: string) =>
      engine.ask({ method: 'POST', path: url`/networks/${name}/${how}`, json: { Container: this.container } })
    if (wanted === networkMode(this.network, publicNetwork.name)) {
      this.network = network
      return
    }
    if (this.options.project)
      throw new BoundaryError('task', 'the network of a task with a compose file cannot change between phases', {
        retryable: false,
      })
    if (publicNetwork.name === 'host')
      throw new BoundaryError('sandbox', 'a container cannot leave or enter the host’s network while it runs', {
        retryable: false,
      })
    if (wanted !== 'none') await publicNetwork.ready()
    for (const name of connected) await change('disconnect', name)
    if (wanted !== 'none') await change('connect', wanted)
    this.network = network
  }

  async freeze(): Promise<Frozen> {
    this.live()
    this.closeDoors()
    const freezing = this.options.verify === 'fresh' ? this.replace() : this.clearInPlace()
    this.working = freezing.catch(() => {})
    await freezing
    // Services that an agent could talk to are as it left them.
    const isolation = (this.options.project?.others.length ?? 0) > 0 ? 'shared' : this.options.verify
    return { isolation, restored: null }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.disposing ??= this.dispose()
    return this.disposing
  }

  private get container(): string {
    return `${this.options.id}-${this.generation}`
  }

  private live(): Commands {
    if (this.disposing) throw gone()
    return this.commands
  }

  private place(): Place {
    const { container } = this.live()
    return { engine: this.options.engine, container }
  }

  private makeCommands(): Commands {
    const { engine, workdir: cwd, spec, log } = this.options
    return new Commands(engine, this.container, { user: spec.user, cwd }, log)
  }

  private async start(spec: Omit<ContainerSpec, 'name' | 'network'>): Promise<void> {
    const { engine, publicNetwork, project } = this.options
    for (const { name } of spec.volumes) {
      if (this.made.volumes.has(name)) continue
      this.made.volumes.add(name)
      await makeVolume(engine, name, spec.labels)
    }
    this.made.containers.add(this.container)
    const network = networkMode(this.network, publicNetwork.name)
    if (network !== 'none') await publicNetwork.ready()
    const full = { ...spec, name: this.container, network }
    await (project ? project.start(full) : startContainer(engine, full))
    // Root's shell is there after the next command anyway.
    if (!isRoot(spec.user)) this.commands.warm()
    const made = await this.commands.exec(['/bin/sh', '-c', makeLogs], asRoot)
    if (made.exitCode !== 0)
      throw new BoundaryError('sandbox', `cannot make /logs in the container: ${made.stderr.trim().slice(0, 300)}`)
  }

  /** Stops the container, keeps its files, and starts another over them that has nothing else of it. */
  private async replace(): Promise<void> {
    const { engine, id, spec } = this.options
    const old = this.container
    this.commands.close()
    await stopContainer(engine, old)
    const tag = `${id}-${this.generation + 1}`
    this.made.images.add(`${frozenRepo}:${tag}`)
    await commitContainer(engine, old, { repo: frozenRepo, tag })
    // A project has one container of each service; there its files are all that is needed of the old one.
    if (this.options.project) await removeContainer(engine, old)
    this.generation++
    this.commands = this.makeCommands()
    const fresh = freshPaths.map((path, index) => ({ name: `${this.container}-fresh-${index}`, path, filled: false }))
    const image = `${frozenRepo}:${tag}`
    await this.start({ ...spec, image, program: [], volumes: [...kept(spec.volumes), ...fresh] })
    await this.forget(old)
  }

  private async clearInPlace(): Promise<void> {
    const script = `rm -rf /tests /logs/verifier; ${makeLogs}`
    await this.live().exec(['/bin/sh', '-c', script], asRoot)
  }

  /** Removes a container that was replaced, and its own fresh directories. Its image is below the new one's. */
  private async forget(container: string): Promise<void> {
    const { engine } = this.options
    await removeContainer(engine, container)
    this.made.containers.delete(container)
    for (const name of this.made.volumes) {
      if (!name.startsWith(`${container}-fresh-`)) continue
      await removeVolume(engine, name)
      this.made.volumes.delete(name)
    }
  }

  private async dispose(): Promise<void> {
    this.closeDoors()
    this.commands.close()
    await this.working
    const { engine } = this.options
    this.commands.close()
    for (const name of this.made.containers) await removeContainer(engine, name)
    await this.options.project?.remove()
    await this.options.publicNetwork.remove()
    await Promise.all([...this.made.volumes].map((name) => removeVolume(engine, name)))
    for (const name of [...this.made.images].reverse()) await removeImage(engine, name)
  }

  /** Connections still open end by themselves: the programs behind them are about to. */
  private closeDoors(): void {
    for (const door of this.doors) void door.close()
    this.doors.clear()
  }
}

/** Volumes of the image go from one container to the next as they are. */
function kept(volumes: readonly MountedVolume[]): MountedVolume[] {
  return volumes.filter(({ path }) => !freshPaths.includes(path))
}
