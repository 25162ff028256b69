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
  SandboxLease,
  StorageWatch,
  Terminal,
  TerminalOptions,
} from '../../core/sandbox.ts'
import type { Healthcheck, Network } from '../../core/task.ts'

/** What stays the same for the life of a sandbox. */
type Identity = Pick<SandboxLease, 'id' | 'workdir' | 'facts' | 'healthcheck'>

/** What each kind of sandbox does in its own way; `Lease` adds what is the same for all. */
export interface SandboxBody extends Omit<SandboxLease, keyof Identity | typeof Symbol.asyncDispose> {
  /** As for a lease; every door is already closed. */
  freeze(how: FreezeOptions): Promise<Frozen>
  /** Leaves nothing behind. Called once, never during a freeze. */
  destroy(): Promise<void>
}

/** The one way out of a sandbox without network. */
export interface Gate {
  /** Variables that tell its programs about it. */
  readonly env: Readonly<Record<string, string>>
  close(): Promise<void>
}

/** Opens a gate through a door of the sandbox; null where a network needs none. */
export type OpenGate = (network: Network, openDoor: SandboxLease['openDoor']) => Promise<Gate | null>

/**
 * A sandbox in its owner's hands: it is released once, never during a freeze, and unusable afterwards; its doors close
 * on release and before a freeze. Where it is guarded, its programs can only get out through our gate.
 */
export class Lease implements SandboxLease {
  readonly id: string
  readonly workdir: string
  readonly facts: SandboxFacts
  readonly healthcheck: Healthcheck | null
  private readonly doors = new Set<Door>()
  private freezing: Promise<unknown> = Promise.resolve()
  private released: Promise<void> | undefined
  private guard: { readonly open: OpenGate; network: Network; gate: Gate | null } | null = null

  constructor(
    private readonly body: SandboxBody,
    { id, workdir, facts, healthcheck }: Identity,
  ) {
    this.id = id
    this.workdir = workdir
    this.facts = facts
    this.healthcheck = healthcheck
  }

  get storage(): StorageWatch | undefined {
    return this.body.storage
  }

  async alive(): Promise<boolean> {
    return this.released === undefined && (await this.body.alive())
  }

  async exec(argv: readonly string[], options?: ExecOptions): Promise<ExecResult> {
    return this.live().exec(argv, this.withGate(options))
  }

  async openTerminal(options?: TerminalOptions): Promise<Terminal> {
    return this.live().openTerminal(this.withGate(options))
  }

  async read(path: string): Promise<Uint8Array> {
    return this.live().read(path)
  }

  async write(path: string, data: string | Uint8Array, options?: { readonly mode?: number }): Promise<void> {
    return this.live().write(path, data, options)
  }

  async uploadDir(source: string, target: string): Promise<void> {
    return this.live().uploadDir(source, target)
  }

  async downloadDir(source: string, target: string, options?: DownloadOptions): Promise<void> {
    return this.live().downloadDir(source, target, options)
  }

  async openDoor(accept: (socket: Duplex) => void): Promise<Door> {
    const door = await this.live().openDoor(accept)
    this.doors.add(door)
    return door
  }

  async setNetwork(network: Network): Promise<void> {
    const { guard } = this
    if (guard === null) return this.live().setNetwork(network)
    if (behindGate(network).mode !== behindGate(guard.network).mode) await this.live().setNetwork(behindGate(network))
    guard.network = network
    await this.openGate()
  }

  async freeze(how: FreezeOptions = {}): Promise<Frozen> {
    const freezing = this.startClean(this.live(), how)
    this.freezing = freezing.catch(() => {})
    return freezing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.released ??= this.release()
    return this.released
  }

  /** Enforces an allowlist by a gate from now on; releases the sandbox if that fails. */
  async guardBy(open: OpenGate, network: Network): Promise<this> {
    this.guard = { open, network, gate: null }
    try {
      await this.openGate()
      return this
    } catch (error) {
      await this[Symbol.asyncDispose]()
      throw error
    }
  }

  private async startClean(body: SandboxBody, how: FreezeOptions): Promise<Frozen> {
    await this.closeDoors()
    const frozen = await body.freeze(how)
    if (this.released === undefined) await this.openGate()
    return frozen
  }

  private async release(): Promise<void> {
    const closed = this.closeDoors()
    // Otherwise whatever starts in the meantime would stay.
    await this.freezing
    await closed
    await this.body.destroy()
  }

  private live(): SandboxBody {
    if (this.released === undefined) return this.body
    throw new BoundaryError('sandbox', 'the sandbox was released', { code: 'SandboxGoneError' })
  }

  private withGate<T extends ExecOptions | TerminalOptions>(options: T | undefined): T | undefined {
    const gate = this.guard?.gate
    return gate ? ({ ...options, env: { ...gate.env, ...options?.env } } as T) : options
  }

  private async openGate(): Promise<void> {
    const { guard } = this
    if (guard === null) return
    await guard.gate?.close()
    guard.gate = null
    guard.gate = await guard.open(guard.network, (accept) => this.openDoor(accept))
  }

  /** Open connections end by themselves: the programs behind them are about to end. */
  private async closeDoors(): Promise<void> {
    const gate = this.guard?.gate
    if (this.guard) this.guard.gate = null
    const doors = [...this.doors]
    this.doors.clear()
    await Promise.allSettled([gate?.close(), ...doors.map((door) => door.close())])
  }
}

/** The network of a sandbox whose gate enforces an allowlist. */
export function behindGate(network: Network): Network {
  return network.mode === 'allowlist' ? { mode: 'no-network' } : network
}
