import type { Sandbox } from '@daytonaio/sdk'
import { BoundaryError, messageOf } from '../../core/errors.ts'
import type { Network } from '../../core/task.ts'
import { shellQuote } from '../../lib/shell.ts'
import { cloudFailure } from '../cloud/failures.ts'
import { LineReader } from '../cloud/line-reader.ts'
import type {
  CloudMachine,
  PtyOptions,
  RemoteProcess,
  RemotePty,
  ScriptOptions,
  ScriptResult,
} from '../cloud/machine.ts'
import { transferFailure } from '../common/transfer-rules.ts'
import { Detached } from './detached.ts'
import { patiently, statusOf } from './failures.ts'
import { networkSettings } from './network.ts'
import { openPty } from './pty.ts'

/** Longer scripts are sent as a file: an argument list has no room for them. */
const scriptLimitBytes = 96 * 1024
const restartSec = 120

export interface MachineOptions {
  /** False for users who would rather not wait for restarts. */
  readonly restarts: boolean
  /**
   * True when the image may have a program of its own, which the provider starts again with the sandbox and which the
   * agent may have changed.
   */
  readonly startsPrograms: boolean
}

/** A Daytona sandbox. */
export class DaytonaMachine implements CloudMachine {
  private readonly detached = new Detached((script, timeoutSec, env) => this.call(script, timeoutSec, env))
  private uploads = 0

  constructor(
    private readonly sandbox: Sandbox,
    private readonly options: MachineOptions,
  ) {}

  get id(): string {
    return this.sandbox.id
  }

  run(script: string, options?: ScriptOptions): Promise<ScriptResult> {
    return this.detached.run(script, options)
  }

  /** A terminal is the provider's only two-way stream; in raw mode it passes every line unchanged. */
  async stream(script: string, onLine: (line: string) => void): Promise<RemoteProcess> {
    const lines = new LineReader(onLine)
    const pty = await this.openPty(`stty raw -echo\n${script}`, {
      cols: 80,
      rows: 24,
      onData: (data) => lines.take(Buffer.from(data).toString('latin1')),
    })
    return { write: (text) => pty.write(Buffer.from(text)), kill: () => pty.kill(), exited: pty.exited }
  }

  openPty(script: string, options: PtyOptions): Promise<RemotePty> {
    const { process } = this.sandbox
    return openPty({ process, put: (path, data) => this.put(path, data), alive: () => this.alive() }, script, options)
  }

  async put(path: string, data: Uint8Array): Promise<void> {
    await this.patiently(() => this.sandbox.fs.uploadFile(Buffer.from(data), path), `cannot write ${path}`)
  }

  async get(path: string, limitBytes: number): Promise<Uint8Array> {
    try {
      return await this.patiently(() => this.fetch(path, limitBytes), `cannot read ${path}`)
    } catch (error) {
      const gone = error instanceof BoundaryError && error.code === 'SandboxGoneError'
      if (gone && !(await this.alive().catch(() => true))) throw error
      throw gone || !(error instanceof BoundaryError)
        ? transferFailure(`cannot read ${path}: ${messageOf(error)}`)
        : error
    }
  }

  async alive(): Promise<boolean> {
    try {
      await patiently(() => this.sandbox.refreshData(), { doing: 'cannot inspect the sandbox' })
      return this.sandbox.state === 'started'
    } catch (error) {
      if (error instanceof BoundaryError && error.code === 'SandboxGoneError') return false
      throw error
    }
  }

  async setNetwork(network: Network): Promise<void> {
    await this.patiently(
      () => this.sandbox.updateNetworkSettings(networkSettings(network)),
      'cannot change the network',
    )
  }

  async extend(): Promise<void> {
    await this.sandbox.refreshActivity()
  }

  /** Nothing of the agent survives a stop, not even changes to the provider's own program inside. */
  async restart(): Promise<boolean> {
    if (!this.options.restarts) return false
    const doing = 'cannot restart the sandbox'
    await patiently(
      async () => {
        await this.sandbox.refreshData()
        if (this.sandbox.state !== 'stopped') await this.sandbox.stop(restartSec)
      },
      { doing, conflicts: true },
    )
    await patiently(
      async () => {
        await this.sandbox.refreshData()
        if (this.sandbox.state !== 'started') await this.sandbox.start(restartSec)
      },
      { doing, conflicts: true },
    )
    return !this.options.startsPrograms
  }

  async destroy(): Promise<void> {
    await removeSandbox(() => this.sandbox.delete(60))
  }

  private async fetch(path: string, limitBytes: number): Promise<Uint8Array> {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of await this.sandbox.fs.downloadFileStream(path)) {
      bytes += chunk.length
      if (bytes > limitBytes) throw transferFailure(`cannot read ${path}: larger than ${limitBytes} bytes`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }

  private async call(script: string, timeoutSec: number, env: Readonly<Record<string, string>>): Promise<string> {
    let command = `sh -c ${shellQuote(script)}`
    if (Buffer.byteLength(command) > scriptLimitBytes) {
      const path = `/var/tmp/ot-agent-script-${process.pid}-${this.uploads++}`
      await this.put(path, Buffer.from(script))
      command = `sh ${path}`
    }
    const work = () => this.sandbox.process.executeCommand(command, undefined, { ...env }, timeoutSec)
    return (await this.patiently(work, 'cannot run a command')).result
  }

  /** Requests to a sandbox fail in many ways once it no longer exists; repeating them is then pointless. */
  private async patiently<T>(work: () => Promise<T>, doing: string): Promise<T> {
    let failed = 0
    return patiently(
      async () => {
        if (failed === 2 && !(await this.alive().catch(() => true)))
          throw cloudFailure('SandboxGoneError', `${doing}: the sandbox is gone`)
        try {
          return await work()
        } catch (error) {
          failed++
          throw error
        }
      },
      { doing },
    )
  }
}

/** Deletes a sandbox; one that is already gone is fine, and one whose state is changing is retried. */
export async function removeSandbox(remove: () => Promise<void>): Promise<void> {
  await patiently(
    () =>
      remove().catch((error: unknown) => {
        if (statusOf(error) !== 404) throw error
      }),
    { doing: 'cannot delete the sandbox', conflicts: true },
  )
}
