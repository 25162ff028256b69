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
  Terminal,
  TerminalOptions,
} from '../../core/sandbox.ts'
import type { Network, User } from '../../core/task.ts'
import { Lease, type SandboxBody } from '../common/lease.ts'
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
  /** The environment of every command. */
  readonly env: Readonly<Record<string, string>>
  /** How often we postpone the provider's own end of the machine while we are alive. */
  readonly extendEverySec: number
}

/**
 * Performs a lease's operations on a cloud machine: everything a sandbox must do, using only what every cloud offers.
 */
export class CloudBody implements SandboxBody {
  private readonly heart: NodeJS.Timeout
  private readonly forget: string[] = []

  private constructor(
    private readonly machine: CloudMachine,
    private readonly options: CloudLeaseOptions,
    private readonly workdir: string,
    /** Processes that were there before any of ours: the provider's own programs. */
    private spared: readonly string[],
  ) {
    this.heart = setInterval(() => void machine.extend().catch(() => {}), options.extendEverySec * 1000)
    this.heart.unref()
  }

  static async open(machine: CloudMachine, options: CloudLeaseOptions): Promise<Lease> {
    const script = `${startScript} || exit 1; pwd; ${listProcesses}`
    const { exitCode, stdout, stderr } = await machine.run(script, { cwd: null })
    if (exitCode !== 0)
      throw cloudFailure('SandboxUnavailableError', `the sandbox did not start well: ${stderr.trim().slice(0, 300)}`)
    const [cwd = '/', ...spared] = stdout.trim().split('\n')
    const workdir = options.workdir ?? options.image.workdir ?? cwd
    await machine.run(scriptWith('mkdir -p "$1"', [workdir]))
    const body = new CloudBody(machine, options, workdir, spared)
    await body.startEntrypoint().catch((error: unknown) => {
      clearInterval(body.heart)
      throw error
    })
    const { facts, image } = options
    return new Lease(body, { id: machine.id, workdir, facts, healthcheck: image.healthcheck })
  }

  async alive(): Promise<boolean> {
    return this.machine.alive()
  }

  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    const command = { id: newId(), cwd: this.workdir, forget: this.forget.splice(0), ...this.surroundings(options) }
    const result = await runCommand(this.machine, argv, command, options)
    this.forget.push(command.id)
    return result
  }

  async read(path: string): Promise<Uint8Array> {
    return this.machine.get(posix.resolve(this.workdir, path), readLimitBytes)
  }

  async write(path: string, data: string | Uint8Array, options: { readonly mode?: number } = {}): Promise<void> {
    await writeFile(this.machine, posix.resolve(this.workdir, path), data, options.mode ?? 0o644)
  }

  async uploadDir(source: string, target: string): Promise<void> {
    await uploadDir(this.machine, source, posix.resolve(this.workdir, target))
  }

  async downloadDir(source: string, target: string, options: DownloadOptions = {}): Promise<void> {
    await downloadDir(this.machine, posix.resolve(this.workdir, source), target, options)
  }

  async openTerminal(options: TerminalOptions = {}): Promise<Terminal> {
    return openTerminal(this.machine, { id: newId(), cwd: this.workdir, ...this.surroundings(options) }, options)
  }

  async openDoor(accept: (socket: Duplex) => void): Promise<Door> {
    return openDoor(this.machine, accept)
  }

  async setNetwork(network: Network): Promise<void> {
    await this.machine.setNetwork(network)
  }

  async freeze(): Promise<Frozen> {
    const isFresh = (await this.machine.restart?.()) ?? false
    if (!isFresh) await this.machine.run(killScript(this.spared))
    const { exitCode, stdout, stderr } = await this.machine.run(`{ ${cleanScript}; } || exit 1; ${listProcesses}`)
    if (isFresh) this.spared = stdout.trim().split('\n')
    if (exitCode !== 0)
      throw cloudFailure('SandboxUnavailableError', `cannot make the sandbox clean: ${stderr.trim().slice(0, 300)}`)
    return { isolation: isFresh ? 'fresh' : 'shared', restored: null }
  }

  async destroy(): Promise<void> {
    clearInterval(this.heart)
    await this.machine.destroy()
  }

  private surroundings({ cwd, user, env }: Pick<ExecOptions, 'cwd' | 'user' | 'env'>) {
    const chosen: User | undefined = user ?? this.options.image.user
    return {
      ...(cwd !== undefined && { cwd: posix.resolve(this.workdir, cwd) }),
      user: String(chosen ?? 'root'),
      env: shielded({ ...this.options.image.env, ...this.options.env, ...env }),
    }
  }

  /** Like a container engine: starts the image's own program, with a command that only waits. */
  private async startEntrypoint(): Promise<void> {
    const { entrypoint } = this.options.image
    if (entrypoint === null) return
    const script = 'nohup "$@" sh -c "sleep infinity" > /dev/null 2>&1 < /dev/null &'
    await this.exec(['sh', '-c', script, 'sh', ...entrypoint])
  }
}

/** A provider's login shell may set these two itself, so they are passed under other names. */
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
