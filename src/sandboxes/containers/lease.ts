import { posix } from 'node:path'
import type { Duplex } from 'node:stream'
import { BoundaryError, messageOf } from '../../core/errors.ts'
import type {
  Door,
  DownloadOptions,
  ExecOptions,
  ExecResult,
  FreezeOptions,
  Frozen,
  Terminal,
  TerminalOptions,
} from '../../core/sandbox.ts'
import { listedChanges } from '../../core/system-files.ts'
import type { Network } from '../../core/task.ts'
import { Lease, type SandboxBody } from '../common/lease.ts'
import { fromInside, limitsOf, transferFailure } from '../common/transfer-rules.ts'
import { frameOf, openDoor } from '../namespaces/door.ts'
import type { Commands } from './commands.ts'
import { networkMode } from './container.ts'
import { url } from './container-engine.ts'
import { gone, inspectContainer } from './container-state.ts'
import { clearFresh, makeLogs } from './fresh-files.ts'
import { Generations } from './generations.ts'
import { copyFromHost } from './host-files.ts'
import type { LeaseOptions } from './lease-options.ts'
import { openTerminal } from './terminal.ts'
import { asRoot, downloadDir, type Place, readFile, uploadDir, writeFile } from './transfer.ts'

/**
 * Performs a lease's operations on containers. A freeze replaces the container with another one over the same files.
 */
export class DockerBody implements SandboxBody {
  private readonly generations: Generations

  private constructor(private readonly options: LeaseOptions) {
    this.generations = new Generations(options)
  }

  /** Starts the container; if anything fails, nothing of it is left. */
  static async open(options: LeaseOptions, signal: AbortSignal | undefined): Promise<Lease> {
    const body = new DockerBody(options)
    try {
      signal?.throwIfAborted()
      await body.generations.open()
      signal?.throwIfAborted()
      return new Lease(body, options)
    } catch (error) {
      await body.destroy()
      throw error
    }
  }

  async alive(): Promise<boolean> {
    return this.commands.alive()
  }

  async exec(argv: readonly string[], options?: ExecOptions): Promise<ExecResult> {
    return this.commands.exec(argv, options)
  }

  async read(path: string): Promise<Uint8Array> {
    return readFile(this.place(), path)
  }

  async write(path: string, data: string | Uint8Array, options: { readonly mode?: number } = {}): Promise<void> {
    return writeFile(this.commands, path, data, options.mode ?? 0o644)
  }

  async uploadDir(source: string, target: string): Promise<void> {
    return uploadDir(this.options.engine, this.commands, source, target)
  }

  async downloadDir(source: string, target: string, options: DownloadOptions = {}): Promise<void> {
    const path = posix.normalize(source)
    if (!(await this.copyFromHost(path, target, options))) await downloadDir(this.place(), path, target, options)
  }

  async openTerminal(options: TerminalOptions = {}): Promise<Terminal> {
    const { engine, workdir: cwd, spec } = this.options
    await this.commands.revive()
    return openTerminal({ engine, commands: this.commands, user: spec.user, cwd }, options)
  }

  async openDoor(accept: (socket: Duplex) => void): Promise<Door> {
    await this.commands.revive()
    const state = await inspectContainer(this.options.engine, this.generations.container)
    if (!state?.running) throw gone()
    return openDoor(frameOf(state.pid, 'it needs root, or a container engine that runs as you'), accept)
  }

  async setNetwork(network: Network): Promise<void> {
    const { engine, publicNetwork } = this.options
    const wanted = networkMode(network, publicNetwork.name)
    const connected = (await inspectContainer(engine, this.generations.container))?.networks ?? []
    const change = (how: 'connect' | 'disconnect', name: string) =>
      engine.ask({
        method: 'POST',
        path: url`/networks/${name}/${how}`,
        json: { Container: this.generations.container },
      })
    if (wanted === networkMode(this.generations.network, publicNetwork.name)) {
      this.generations.network = network
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
    this.generations.network = network
  }

  async freeze(how: FreezeOptions): Promise<Frozen> {
    const restored = this.options.verify === 'fresh' ? await this.generations.renew(how) : await this.clearInPlace()
    // Services that an agent could talk to stay as it left them.
    const isolation = (this.options.project?.others.length ?? 0) > 0 ? 'shared' : this.options.verify
    return { isolation, restored: restored && { files: restored.slice(0, listedChanges), total: restored.length } }
  }

  async destroy(): Promise<void> {
    await this.generations.dispose()
  }

  private get commands(): Commands {
    return this.generations.commands
  }

  private place(): Place {
    const { container } = this.commands
    return { engine: this.options.engine, container }
  }

  private async copyFromHost(source: string, target: string, options: DownloadOptions): Promise<boolean> {
    if (options.exclude?.length) return false
    const kept = await this.generations.keptFiles().catch(() => null)
    if (kept === null) return false
    return copyFromHost(kept, source, target, { ...fromInside, ...limitsOf(options) }).catch((error: unknown) => {
      throw transferFailure(`cannot copy ${source}: ${messageOf(error)}`, error)
    })
  }

  private async clearInPlace(): Promise<null> {
    const script = `${clearFresh}; ${makeLogs}`
    await this.commands.exec(['/bin/sh', '-c', script], asRoot)
    return null
  }
}
