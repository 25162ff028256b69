import type { Duplex } from 'node:stream'
import type {
  Door,
  DownloadOptions,
  ExecOptions,
  ExecResult,
  FreezeOptions,
  Frozen,
  SandboxFacts,
  SandboxLease,
  SandboxProvider,
  StorageWatch,
  Terminal,
  TerminalOptions,
} from '../../core/sandbox.ts'
import type { Healthcheck, Network } from '../../core/task.ts'
import { AllowedHosts } from './allowed-hosts.ts'
import { openHostGate } from './host-gate.ts'

/**
 * Gives a provider whose sandboxes have doors the ability to allow some hosts only: such a sandbox has no network at all, and a
 * door to a proxy of ours that knows the list. Programs find it by the usual variables; one that does not look there reaches nothing.
 */
export function withAllowlist(provider: SandboxProvider): SandboxProvider {
  return {
    ...provider,
    can: { ...provider.can, network: [...provider.can.network, 'allowlist'] },
    lease: async (request) => {
      const { network } = request.environment
      const environment = { ...request.environment, network: innerNetwork(network) }
      return GuardedLease.open(await provider.lease({ ...request, environment }), network)
    },
  }
}

function innerNetwork(network: Network): Network {
  return network.mode === 'allowlist' ? { mode: 'no-network' } : network
}

/** The one way out that a sandbox without network has. */
interface Gate {
  readonly env: Readonly<Record<string, string>>
  close(): Promise<void>
}

/** A sandbox whose commands may be told of a gate; everything else is the sandbox's own. */
class GuardedLease implements SandboxLease {
  private gate: Gate | null = null

  private constructor(
    private readonly lease: SandboxLease,
    private network: Network,
  ) {}

  static async open(lease: SandboxLease, network: Network): Promise<GuardedLease> {
    const guarded = new GuardedLease(lease, network)
    try {
      await guarded.openGate()
      return guarded
    } catch (error) {
      await lease[Symbol.asyncDispose]()
      throw error
    }
  }

  get id(): string {
    return this.lease.id
  }

  get workdir(): string {
    return this.lease.workdir
  }

  get facts(): SandboxFacts {
    return this.lease.facts
  }

  get healthcheck(): Healthcheck | null {
    return this.lease.healthcheck
  }

  get storage(): StorageWatch | undefined {
    return this.lease.storage
  }

  alive(): Promise<boolean> {
    return this.lease.alive()
  }

  exec(argv: readonly string[], options?: ExecOptions): Promise<ExecResult> {
    return this.lease.exec(argv, this.withGate(options))
  }

  openTerminal(options?: TerminalOptions): Promise<Terminal> {
    return this.lease.openTerminal(this.withGate(options))
  }

  read(path: string): Promise<Uint8Array> {
    return this.lease.read(path)
  }

  write(path: string, data: string | Uint8Array, options?: { readonly mode?: number }): Promise<void> {
    return this.lease.write(path, data, options)
  }

  uploadDir(source: string, target: string): Promise<void> {
    return this.lease.uploadDir(source, target)
  }

  downloadDir(source: string, target: string, options?: DownloadOptions): Promise<void> {
    return this.lease.downloadDir(source, target, options)
  }

  openDoor(accept: (socket: Duplex) => void): Promise<Door> {
    return this.lease.openDoor(accept)
  }

  async setNetwork(network: Network): Promise<void> {
    if (innerNetwork(network).mode !== innerNetwork(this.network).mode)
      await this.lease.setNetwork(innerNetwork(network))
    await this.closeGate()
    this.network = network
    await this.openGate()
  }

  /** A freeze closes every door; the gate is opened again in what comes after. */
  async freeze(how?: FreezeOptions): Promise<Frozen> {
    await this.closeGate()
    const frozen = await this.lease.freeze(how)
    await this.openGate()
    return frozen
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closeGate()
    await this.lease[Symbol.asyncDispose]()
  }

  private withGate<T extends ExecOptions | TerminalOptions>(options: T | undefined): T | undefined {
    if (this.gate === null) return options
    return { ...options, env: { ...this.gate.env, ...options?.env } } as T
  }

  private async openGate(): Promise<void> {
    const { network } = this
    if (network.mode !== 'allowlist' || network.hosts.length === 0) return
    const proxy = openHostGate(new AllowedHosts(network.hosts))
    const door = await this.lease.openDoor(proxy.accept)
    this.gate = {
      env: proxyVariables(door.url),
      close: async () => {
        proxy.close()
        await door.close()
      },
    }
  }

  private async closeGate(): Promise<void> {
    const { gate } = this
    this.gate = null
    await gate?.close()
  }
}

/** What curl, wget, git, apt, pip, npm and Node look for; servers inside the sandbox itself are reached directly. */
function proxyVariables(url: string): Record<string, string> {
  const direct = 'localhost,127.0.0.1,::1'
  const both = (name: string, value: string) => ({ [name]: value, [name.toUpperCase()]: value })
  return {
    ...both('http_proxy', url),
    ...both('https_proxy', url),
    ...both('no_proxy', direct),
    NODE_USE_ENV_PROXY: '1',
  }
}
