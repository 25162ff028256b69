import { chmod, mkdir } from 'node:fs/promises'
import { join, normalize } from 'node:path'
import type { Duplex } from 'node:stream'
import { BoundaryError } from '../../core/errors.ts'
import {
  brokenSystem,
  type Door,
  type DownloadOptions,
  type ExecOptions,
  type ExecResult,
  type FreezeOptions,
  type Frozen,
  type SandboxFacts,
  type Terminal,
  type TerminalOptions,
} from '../../core/sandbox.ts'
import type { Healthcheck, Network } from '../../core/task.ts'
import { copyTree } from '../../lib/tree.ts'
import { Lease, type SandboxBody } from '../common/lease.ts'
import { frameOf, openDoor } from '../namespaces/door.ts'
import { downloadDir, makeLogsDir, readFile, uploadDir, writeFile } from '../namespaces/transfer.ts'
import { FileStack } from './file-stack.ts'
import { gone, type Instance } from './instance.ts'

export interface LeaseOptions {
  readonly id: string
  readonly dir: string
  readonly workdir: string
  readonly network: 'host' | 'none'
  readonly facts: SandboxFacts
  readonly healthcheck: Healthcheck | null
  readonly dispose: () => Promise<void>
}

/** Performs a lease's operations on an instance. */
export class ApptainerBody implements SandboxBody {
  private generation = 0
  /** True when no command has run since the last freeze, so /tests may still be filled from outside. */
  private quiet = false
  private readonly files: FileStack

  private constructor(
    private readonly instance: Instance,
    private readonly options: LeaseOptions,
  ) {
    this.files = new FileStack(instance)
  }

  static async open(instance: Instance, options: LeaseOptions, signal?: AbortSignal): Promise<Lease> {
    const body = new ApptainerBody(instance, options)
    await body.mountLogs(null)
    await instance.start(signal)
    const made = await instance.exec(['mkdir', '-p', options.workdir], { user: 'root', cwd: '/' })
    if (made.exitCode !== 0) throw new BoundaryError('sandbox', `cannot make ${options.workdir}: ${made.stderr.trim()}`)
    return new Lease(body, options)
  }

  async alive(): Promise<boolean> {
    return !this.instance.isGone
  }

  async exec(argv: readonly string[], options?: ExecOptions): Promise<ExecResult> {
    this.quiet = false
    return this.instance.exec(argv, options)
  }

  async openTerminal(options: TerminalOptions = {}): Promise<Terminal> {
    this.quiet = false
    return this.instance.openTerminal(options)
  }

  async openDoor(accept: (socket: Duplex) => void): Promise<Door> {
    return openDoor(frameOf(this.instance.pid, 'it needs nsenter'), accept)
  }

  async read(path: string): Promise<Uint8Array> {
    this.quiet = false
    return readFile(this.instance, path)
  }

  async write(path: string, data: string | Uint8Array, options: { readonly mode?: number } = {}): Promise<void> {
    this.quiet = false
    return writeFile(this.instance, path, data, options.mode ?? 0o644)
  }

  async uploadDir(source: string, target: string): Promise<void> {
    const tests = this.instance.mounts.get('/tests')
    const isTests = normalize(target).replace(/\/+$/, '') === '/tests'
    if (this.quiet && isTests && tests !== undefined) return copyTree(source, tests)
    this.quiet = false
    return uploadDir(this.instance, source, target)
  }

  async downloadDir(source: string, target: string, options: DownloadOptions = {}): Promise<void> {
    this.quiet = false
    return downloadDir(this.instance, source, target, options)
  }

  async setNetwork(network: Network): Promise<void> {
    const wanted = network.mode === 'public' ? 'host' : 'none'
    if (wanted === this.options.network) return
    throw new BoundaryError('task', 'the network of an apptainer sandbox cannot change while it runs', {
      retryable: false,
    })
  }

  /**
   * Another instance over the same files: no process of the old one remains, and /tests and the verifier's logs are new
   * mounts.
   */
  async freeze(how: FreezeOptions): Promise<Frozen> {
    // An agent whose sandbox was removed is not verified.
    if (this.instance.isGone) throw gone()
    const restored = await this.files.renew(how)
    this.generation++
    const tests = this.place('tests')
    await mkdir(tests, { recursive: true })
    await chmod(tests, 0o755)
    this.instance.mounts.set('/tests', tests)
    await this.mountLogs(this.instance.mounts.get('/logs') ?? null)
    await this.startOverAgentFiles()
    this.quiet = true
    return { isolation: 'fresh', restored }
  }

  /** If the image starts and this does not, the agent's files are to blame. */
  private async startOverAgentFiles(): Promise<void> {
    try {
      await this.instance.start()
    } catch (error) {
      const imageStarts = await this.instance.whileImageRuns(async () => true).catch(() => false)
      if (!imageStarts) throw error
      const what = 'nothing starts on the system as the agent left it'
      throw new BoundaryError('sandbox', what, { code: brokenSystem, retryable: false, cause: error })
    }
  }

  async destroy(): Promise<void> {
    await this.options.dispose()
  }

  /** Moves the agent's logs to the new /logs. Nothing runs inside at this moment. */
  private async mountLogs(previous: string | null): Promise<void> {
    const dir = this.place('logs')
    makeLogsDir(dir, previous)
    this.instance.mounts.set('/logs', dir)
  }

  private place(name: string): string {
    return join(this.options.dir, 'mounts', `${name}-${this.generation}`)
  }
}
