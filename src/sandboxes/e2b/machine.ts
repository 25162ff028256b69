import type * as E2b from 'e2b'
import { BoundaryError } from '../../core/errors.ts'
import type { Network } from '../../core/task.ts'
import { shellQuote } from '../../lib/shell.ts'
import { LineReader } from '../cloud/line-reader.ts'
import type {
  CloudMachine,
  PtyOptions,
  RemoteProcess,
  RemotePty,
  ScriptOptions,
  ScriptResult,
} from '../cloud/machine.ts'
import { home } from '../cloud/scripts.ts'
import { transferFailure } from '../common/transfer-rules.ts'
import { asking, failureOf } from './failures.ts'

const user = 'root'

/** An E2B sandbox. Its programs start through a login shell, and E2B sets no time limit for them. */
export class E2bMachine implements CloudMachine {
  private terminals = 0

  constructor(
    private readonly e2b: typeof E2b,
    private readonly sandbox: E2b.Sandbox,
    private readonly lifetimeMs: number,
  ) {}

  get id(): string {
    return this.sandbox.sandboxId
  }

  async run(script: string, options: ScriptOptions = {}): Promise<ScriptResult> {
    const { commands } = this.sandbox
    return this.resultOf(commands.run(script, { ...surroundings(options), timeoutMs: 0 }))
  }

  async stream(script: string, onLine: (line: string) => void): Promise<RemoteProcess> {
    const lines = new LineReader(onLine)
    const handle = await this.ask(() =>
      this.sandbox.commands.run(script, {
        ...surroundings({}),
        background: true,
        stdin: true,
        timeoutMs: 0,
        onStdout: (text) => lines.take(text),
      }),
    )
    return {
      exited: this.exitOf(handle),
      write: (text) => this.ask(() => this.sandbox.commands.sendStdin(handle.pid, text)),
      kill: async () => void (await this.ask(() => handle.kill())),
    }
  }

  /**
   * An E2B terminal starts an interactive login shell: a profile in a separate home directory turns it into what we
   * want.
   */
  async openPty(script: string, { cols, rows, onData, ...options }: PtyOptions): Promise<RemotePty> {
    const profile = `${home}/terminal-${this.terminals++}`
    await this.run(`mkdir -p ${profile} && printf %s ${shellQuote(`exec ${script}\n`)} > ${profile}/.bash_profile`)
    const { pty } = this.sandbox
    const { envs, cwd } = surroundings(options)
    const handle = await this.ask(() =>
      pty.create({ cols, rows, user, ...(cwd && { cwd }), envs: { ...envs, HOME: profile }, timeoutMs: 0, onData }),
    )
    return {
      exited: this.exitOf(handle),
      write: (data) => this.ask(() => pty.sendInput(handle.pid, data)),
      resize: (newCols, newRows) => this.ask(() => pty.resize(handle.pid, { cols: newCols, rows: newRows })),
      kill: async () => void (await this.ask(() => pty.kill(handle.pid))),
    }
  }

  async put(path: string, data: Uint8Array): Promise<void> {
    const bytes = new Uint8Array(data)
    await this.ask(() => this.sandbox.files.write(path, bytes.buffer, { user, requestTimeoutMs: 0 }))
  }

  async get(path: string, limitBytes: number): Promise<Uint8Array> {
    try {
      const stream = await this.sandbox.files.read(path, { format: 'stream', user })
      const chunks: Uint8Array[] = []
      let bytes = 0
      for await (const chunk of stream) {
        bytes += chunk.length
        if (bytes > limitBytes) throw transferFailure(`cannot read ${path}: larger than ${limitBytes} bytes`)
        chunks.push(chunk)
      }
      return Buffer.concat(chunks)
    } catch (error) {
      if (error instanceof this.e2b.NotFoundError && !(error instanceof this.e2b.SandboxNotFoundError))
        throw transferFailure(`cannot read ${path}: ${error.message}`, error)
      throw failureOf(this.e2b, error)
    }
  }

  async alive(): Promise<boolean> {
    return this.ask(() => this.sandbox.isRunning())
  }

  async setNetwork(network: Network): Promise<void> {
    await this.ask(() => this.sandbox.updateNetwork(networkOf(network)))
  }

  async extend(): Promise<void> {
    await this.ask(() => this.sandbox.setTimeout(this.lifetimeMs))
  }

  /** Keeps the disk, drops the memory, and starts again from the disk. */
  async restart(): Promise<boolean> {
    try {
      await this.ask(() => this.sandbox.pause({ keepMemory: false }))
    } catch (error) {
      if (error instanceof BoundaryError && !error.retryable) return false
      throw error
    }
    await this.ask(() => this.sandbox.connect({ timeoutMs: this.lifetimeMs, onResume: 'reboot' }))
    return true
  }

  async destroy(): Promise<void> {
    await this.ask(() => this.sandbox.kill())
  }

  private ask<T>(request: () => Promise<T>): Promise<T> {
    return asking(this.e2b, request)
  }

  private async exitOf(handle: E2b.CommandHandle): Promise<number> {
    const result = this.resultOf(handle.wait())
    result.catch(() => {})
    return (await result).exitCode
  }

  /** The package throws when a command fails; for us that is a result. */
  private async resultOf(running: Promise<E2b.CommandResult>): Promise<ScriptResult> {
    try {
      return await running
    } catch (error) {
      if (!(error instanceof this.e2b.CommandExitError)) throw failureOf(this.e2b, error)
      const { exitCode, stdout, stderr } = error
      return { exitCode, stdout, stderr }
    }
  }
}

/** What a sandbox may reach, in E2B's terms. */
export function networkOf(network: Network): E2b.SandboxNetworkUpdate {
  if (network.mode === 'public') return { allowInternetAccess: true }
  if (network.mode === 'no-network' || network.hosts.length === 0) return { allowInternetAccess: false }
  return { allowOut: [...network.hosts], denyOut: ['0.0.0.0/0'] }
}

function surroundings({ env = {}, cwd = '/' }: ScriptOptions) {
  return { user, envs: { ...env }, ...(cwd !== null && { cwd }) }
}
