import { randomBytes } from 'node:crypto'
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
import type { Healthcheck, Network, User } from '../../core/task.ts'
import { readLimitBytes } from '../common/transfer-rules.ts'
import { openDoor } from './door.ts'
import { cloudFailure } from './failures.ts'
import type { CloudImage } from './image.ts'
import type { CloudMachine } from './machine.ts'
import { runCommand } from './run-command.ts'
import { cleanScript, killScript, listProcesses, scriptWith, startScript } from './scripts.ts'
import { openTerminal } from './terminal.ts'
import { downloadDir, uploadDir, writeFile } from './transfer.ts'

export interface CloudLeaseOptions {
  readonly image: CloudImage
  readonly facts: SandboxFacts
  readonly workdir: string | undefined
  /** Of every command. */
  readonly env: Readonly<Record<string, string>>
  /** How often the provider's own end is put off while we live. */
  readonly extendEverySec: number
}

/** A cloud's machine in its owner's hands: all that a sandbox must be, on the little that every cloud has. */
export class CloudLease implements SandboxLease {
  readonly facts: SandboxFacts
  readonly healthcheck: Healthcheck | null
  private readonly doors = new Set<Door>()
  private readonly heart: NodeJS.Timeout
  private readonly forget: string[] = []
  private freezing: Promise<unknown> = Promise.resolve()
  private returned: Promise<void> | undefined

  private constructor(
    private readonly machine: CloudMachine,
    private readonly options: CloudLeaseOptions,
    readonly workdir: string,
    /** What ran before anything of ours did: the provider's own programs. */
    private spared: readonly string[],
  ) {
    this.facts = options.facts
    this.healthcheck = options.image.healthcheck
    this.heart = setInterval(() => void machine.extend().catch(() => {}), options.extendEverySec * 1000)
    this.heart.unref()
  }

  static async open(machine: CloudMachine, options: CloudLeaseOptions): Promise<CloudLease> {
    const script = `${startScript} || exit 1; pwd; ${listProcesses}`
    const { exitCode, stdout, stderr } = await machine.run(script, { cwd: null })
    if (exitCode !== 0)
      throw cloudFailure('SandboxUnavailableError', `the sandbox did not start well: ${stderr.trim().slice(0, 300)}`)
    const [cwd = '/', ...spared] = stdout.trim().split('\n')
    const workdir = options.workdir ?? options.image.workdir ?? cwd
    await machine.run(scriptWith('mkdir -p "$1"', [workdir]))
    const lease = new CloudLease(machine, options, workdir, spared)
    await lease.startEntrypoint().catch((error: unknown) => {
      clearInterval(lease.heart)
      throw error
    })
    return lease
  }

  get id(): string {
    return this.machine.id
  }

  async alive(): Promise<boolean> {
    return this.returned === undefined && (await this.machine.alive())
  }

  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    this.check()
    const command = { id: newId(), cwd: this.workdir, forget: this.forget.splice(0), ...this.surroundings(options) }
    const result = await runCommand(this.machine, argv, command, options)
    this.forget.push(command.id)
    return result
  }

  async read(path: string): Promise<Uint8Array> {
    this.check()
    return this.machine.get(posix.resolve(this.workdir, path), readLimitBytes)
  }

  async write(path: string, data: string | Uint8Array, options: { readonly mode?: number } = {}): Promise<void> {
    this.check()
    await writeFile(this.machine, posix.resolve(this.workdir, path), data, options.mode ?? 0o644)
  }

  async uploadDir(source: string, target: string): Promise<void> {
    this.check()
    await uploadDir(this.machine, source, posix.resolve(this.workdir, target))
  }

  async downloadDir(source: string, target: string, options: DownloadOptions = {}): Promise<void> {
    this.check()
    await downloadDir(this.machine, posix.resolve(this.workdir, source), target, options)
  }

  async openTerminal(options: TerminalOptions = {}): Promise<Terminal> {
    this.check()
    return openTerminal(this.machine, { id: newId(), cwd: this.workdir, ...this.surroundings(options) }, options)
  }

  async openDoor(accept: (socket: Duplex) => void): Promise<Door> {
    this.check()
    const door = await openDoor(this.machine, accept)
    this.doors.add(door)
    return door
  }

  async setNetwork(network: Network): Promise<void> {
    this.check()
    await this.machine.setNetwork(network)
  }

  async freeze(): Promise<Frozen> {
    this.check()
    const freezing = this.startClean()
    this.freezing = freezing.catch(() => {})
    return freezing
  }

  private async startClean(): Promise<Frozen> {
    await this.closeDoors()
    const isFresh = (await this.machine.restart?.()) ?? false
    if (!isFresh) await this.machine.run(killScript(this.spared))
    const { exitCode, stdout, stderr } = await this.machine.run(`{ ${cleanScript}; } || exit 1; ${listProcesses}`)
    if (isFresh) this.spared = stdout.trim().split('\n')
    if (exitCode !== 0)
      throw cloudFailure('SandboxUnavailableError', `cannot make the sandbox clean: ${stderr.trim().slice(0, 300)}`)
    return { isolation: isFresh ? 'fresh' : 'shared', restored: null }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.returned ??= this.release()
    return this.returned
  }

  private async release(): Promise<void> {
    clearInterval(this.heart)
    void this.closeDoors()
    // Leaving while another machine takes the place of this one would leak that machine.
    await this.freezing
    await this.machine.destroy()
  }

  private check(): void {
    if (this.returned !== undefined) throw cloudFailure('SandboxGoneError', 'the sandbox was released')
  }

  private surroundings({ cwd, user, env }: Pick<ExecOptions, 'cwd' | 'user' | 'env'>) {
    const chosen: User | undefined = user ?? this.options.image.user
    return {
      ...(cwd !== undefined && { cwd: posix.resolve(this.workdir, cwd) }),
      user: String(chosen ?? 'root'),
      env: shielded({ ...this.options.image.env, ...this.options.env, ...env }),
    }
  }

  private async closeDoors(): Promise<void> {
    const doors = [...this.doors]
    this.doors.clear()
    await Promise.allSettled(doors.map((door) => door.close()))
  }

  /** As a container engine does: the image's own program runs first, with a command that only waits. */
  private async startEntrypoint(): Promise<void> {
    const { entrypoint } = this.options.image
    if (entrypoint === null) return
    const script = 'nohup "$@" sh -c "sleep infinity" > /dev/null 2>&1 < /dev/null &'
    await this.exec(['sh', '-c', script, 'sh', ...entrypoint])
  }
}

/** A login shell of the provider's may set these two by itself: they travel under other names. */
function shielded(env: Readonly<Record<string, string>>): Record<string, string> {
  const { PATH, HOME, ...rest } = env
  for (const name of Object.keys(env))
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw new BoundaryError('task', `${JSON.stringify(name)} cannot name a variable`, { retryable: false })
  return { ...rest, ...(PATH !== undefined && { OT_PATH: PATH }), ...(HOME !== undefined && { OT_HOME: HOME }) }
}

function newId(): string {
  return `c${randomBytes(8).toString('hex')}`
}
