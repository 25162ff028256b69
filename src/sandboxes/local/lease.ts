import { lstatSync, readdirSync } from 'node:fs'
import { join, normalize } from 'node:path'
import type { Duplex } from 'node:stream'
import { BoundaryError } from '../../core/errors.ts'
import type {
  Door,
  DownloadOptions,
  ExecOptions,
  ExecResult,
  FreezeOptions,
  Frozen,
  SandboxFacts,
  StorageWatch,
  Terminal,
  TerminalOptions,
} from '../../core/sandbox.ts'
import type { Network } from '../../core/task.ts'
import { copyOut } from '../../lib/copy-out.ts'
import { removeTree } from '../../lib/remove-tree.ts'
import { copyTree } from '../../lib/tree.ts'
import { Lease, type SandboxBody } from '../common/lease.ts'
import { fromInside, limitsOf, transferFailure } from '../common/transfer-rules.ts'
import { downloadDir, makeLogsDir, readFile, uploadDir, writeFile } from '../namespaces/transfer.ts'
import { FileStack } from './file-stack.ts'
import type { Image } from './image.ts'
import { newSharedMemory } from './machine-files.ts'
import type { OwnedMachine } from './workshop.ts'

/** Directories that become mounts of fresh host directories when something is uploaded to them. */
const uploadMounts = ['/tests', '/solution']

export interface LeaseOptions {
  readonly workdir: string
  readonly image: Image
  readonly facts: SandboxFacts
  /** `shared`: `freeze` leaves processes running. */
  readonly verify: 'fresh' | 'shared'
}

/** Performs a lease's operations on a machine on this computer. */
export class LocalBody implements SandboxBody {
  private generation = 0
  /** True when no command has run since the start or the last freeze, so nothing inside can interfere. */
  private quiet = true
  /** Mounts of ours that no program inside has seen yet: only these may be filled from outside. */
  private readonly untouched = new Set<string>()
  private readonly files: FileStack

  private constructor(
    private readonly owned: OwnedMachine,
    private readonly options: LeaseOptions,
  ) {
    this.files = new FileStack(owned.machine, owned.dir)
  }

  static async open(owned: OwnedMachine, options: LeaseOptions): Promise<Lease> {
    const body = new LocalBody(owned, options)
    await body.mountLogs(null)
    await body.mountTools()
    await body.startEntrypoint()
    return new Lease(body, { ...options, id: owned.id, healthcheck: options.image.healthcheck })
  }

  get storage(): StorageWatch | undefined {
    return this.machine.storage ?? undefined
  }

  async alive(): Promise<boolean> {
    return this.machine.alive
  }

  async exec(argv: readonly string[], options?: ExecOptions): Promise<ExecResult> {
    this.disturb()
    return this.machine.exec(argv, options)
  }

  async openTerminal(options: TerminalOptions = {}): Promise<Terminal> {
    this.disturb()
    return this.machine.openTerminal(options)
  }

  async openDoor(accept: (socket: Duplex) => void): Promise<Door> {
    return this.machine.openDoor(accept)
  }

  async read(path: string): Promise<Uint8Array> {
    this.disturb()
    return readFile(this.machine, path)
  }

  async write(path: string, data: string | Uint8Array, options: { readonly mode?: number } = {}): Promise<void> {
    this.disturb()
    return writeFile(this.machine, path, data, options.mode ?? 0o644)
  }

  async uploadDir(source: string, target: string): Promise<void> {
    const path = normalize(target).replace(/\/+$/, '')
    const { mounts } = this.machine
    if (this.quiet && !mounts.has(path) && uploadMounts.includes(path)) {
      await this.clearMountPoint(path)
      mounts.set(path, this.place(path))
      this.untouched.add(path)
    }
    const mounted = mounts.get(path)
    if (mounted !== undefined && this.untouched.has(path)) return copyTree(source, mounted)
    this.disturb()
    return uploadDir(this.machine, source, target)
  }

  async downloadDir(source: string, target: string, options: DownloadOptions = {}): Promise<void> {
    const inside = this.hostPathOf(source)
    if (inside === null || options.exclude?.length) {
      this.disturb()
      return downloadDir(this.machine, source, target, options)
    }
    await copyOut(inside, target, { ...fromInside, ...limitsOf(options) }).catch((error: unknown) => {
      throw transferFailure(`cannot copy ${source}: ${String(error)}`, error)
    })
  }

  async setNetwork(network: Network): Promise<void> {
    this.machine.network = network.mode === 'public' ? 'public' : 'none'
  }

  async freeze(how: FreezeOptions): Promise<Frozen> {
    const fresh = this.options.verify === 'fresh'
    const restored = fresh ? await this.files.renew(how) : null
    await this.machine.storage?.renew()
    this.generation++
    this.quiet = fresh
    const logs = this.machine.mounts.get('/logs') ?? null
    this.machine.mounts.delete('/tests')
    if (fresh) await this.clearSharedMemory()
    else await this.machine.exec(['rm', '-rf', '/tests'], { user: 'root' })
    await this.mountLogs(logs)
    return { isolation: this.options.verify, restored }
  }

  async destroy(): Promise<void> {
    await this.owned.dispose()
  }

  private disturb(): void {
    this.quiet = false
    this.untouched.clear()
  }

  /** Like a container engine: starts the image's own program, with a command that only waits. */
  private async startEntrypoint(): Promise<void> {
    const { entrypoint } = this.options.image
    if (entrypoint === null) return
    this.disturb()
    const { child, done } = await this.machine.spawn([...entrypoint, 'sh', '-c', 'sleep infinity'])
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
    child.once('exit', () => void done())
  }

  private get machine() {
    return this.owned.machine
  }

  /** Moves the agent's logs to the new /logs. Nothing runs inside at this moment. */
  private async mountLogs(previous: string | null): Promise<void> {
    const dir = this.place('/logs')
    makeLogsDir(dir, previous)
    await this.clearMountPoint('/logs')
    this.machine.mounts.set('/logs', dir)
  }

  private async mountTools(): Promise<void> {
    for (const { target } of this.machine.options.toolDirs ?? []) {
      // Deeper down, a program inside could move a parent away and put a link in its place.
      if (!/^\/[\w.-]+$/.test(target)) throw new Error(`expected a directory under the root, got ${target}`)
      await this.clearMountPoint(target)
    }
  }

  /**
   * A mount point must be a directory of the sandbox's own root: through a link, bubblewrap would make directories on
   * the host, and the starter refuses to mount. While commands run, their own mount keeps it from being moved; this is
   * for the moments when none runs.
   */
  private async clearMountPoint(path: string): Promise<void> {
    const { layers, base } = this.machine.options
    const { uppers } = this.files
    for (const [i, root] of [...uppers, ...layers.toReversed()]
      .map((layer) => join(layer, 'root'))
      .concat(base.overlays[0]?.lower ?? [])
      .entries()) {
      const stat = lstatSync(join(root, path), { throwIfNoEntry: false })
      if (stat === undefined) continue
      if (stat.isDirectory()) return
      if (i >= uppers.length)
        throw new BoundaryError('task', `the image has ${path}, but not as a directory`, { retryable: false })
      // Through the mount: if removed below it, the file would still be visible above.
      return this.machine.removeFromRoot(path)
    }
  }

  /**
   * An empty directory is removed with the sandbox: removing files from disk may take long, and everything would wait
   * for it.
   */
  private async clearSharedMemory(): Promise<void> {
    const before = this.machine.mounts.get('/dev/shm')
    if (before !== undefined && !isEmpty(before)) await removeTree(before)
    this.machine.mounts.set('/dev/shm', newSharedMemory(this.owned.dir))
  }

  /** The host directory behind a path that is one of our mounts or a directory directly in one. */
  private hostPathOf(path: string): string | null {
    const [, top = '', below = '', ...rest] = normalize(path).replace(/\/+$/, '').split('/')
    const mounted = this.machine.mounts.get(`/${top}`)
    return mounted === undefined || rest.length > 0 ? null : join(mounted, below)
  }

  private place(path: string): string {
    return join(this.owned.dir, 'mounts', `${path.slice(1)}-${this.generation}`)
  }
}

/** Also false for a directory that a program inside closed: an ordinary user cannot look into it. */
function isEmpty(dir: string): boolean {
  try {
    return readdirSync(dir).length === 0
  } catch {
    return false
  }
}
