import type * as Modal from 'modal'
import { BoundaryError } from '../../core/errors.ts'
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
import { asking, failureOf } from './failures.ts'

/** A Modal sandbox. Restarting it from its files makes another sandbox, so the one it refers to changes. */
export class ModalMachine implements CloudMachine {
  constructor(
    private sandbox: Modal.Sandbox,
    /** Starts a sandbox like this one from other files. */
    private readonly startFrom: (image: Modal.Image) => Promise<Modal.Sandbox>,
  ) {}

  get id(): string {
    return this.sandbox.sandboxId
  }

  run(script: string, options: ScriptOptions = {}): Promise<ScriptResult> {
    return asking(async () => {
      const process = await this.sandbox.exec(['sh', '-c', script], { ...surroundings(options), mode: 'text' })
      const [exitCode, stdout, stderr] = await Promise.all([
        process.wait(),
        process.stdout.readText(),
        process.stderr.readText(),
      ])
      return { exitCode, stdout, stderr }
    })
  }

  stream(script: string, onLine: (line: string) => void): Promise<RemoteProcess> {
    return asking(async () => {
      const process = await this.sandbox.exec(['sh', '-c', script], { ...surroundings({}), mode: 'text' })
      const lines = new LineReader(onLine)
      const reading = readAll(process.stdout, (text) => lines.take(text))
      return {
        exited: exitOf(process, reading),
        write: (text) => asking(() => process.stdin.writeText(text)),
        // Modal cannot kill a single program; ours end with their input.
        kill: () => process.closeStdin().catch(() => {}),
      }
    })
  }

  openPty(script: string, { cols, rows, onData, ...options }: PtyOptions): Promise<RemotePty> {
    return asking(async () => {
      const sized = `stty cols ${cols} rows ${rows}; exec ${script}`
      const process = await this.sandbox.exec(['sh', '-c', sized], {
        ...surroundings(options),
        mode: 'binary',
        pty: true,
      })
      const reading = readAll(process.stdout, onData)
      return {
        exited: exitOf(process, reading),
        write: (data) => asking(() => process.stdin.writeBytes(data)),
        kill: () => process.closeStdin().catch(() => {}),
      }
    })
  }

  async put(path: string, data: Uint8Array): Promise<void> {
    await asking(() => this.sandbox.filesystem.writeBytes(data, path))
  }

  async get(path: string, limitBytes: number): Promise<Uint8Array> {
    try {
      const { size } = await this.sandbox.filesystem.stat(path)
      if (size > limitBytes) throw transferFailure(`cannot read ${path}: larger than ${limitBytes} bytes`)
      return await this.sandbox.filesystem.readBytes(path)
    } catch (error) {
      if (error instanceof Error && error.name.startsWith('SandboxFilesystem'))
        throw transferFailure(`cannot read ${path}: ${error.message}`, error)
      throw failureOf(error)
    }
  }

  async alive(): Promise<boolean> {
    return asking(async () => (await this.sandbox.poll()) === null)
  }

  async setNetwork(): Promise<void> {
    throw new BoundaryError('task', 'a Modal sandbox keeps the network it started with', { retryable: false })
  }

  /** The end of the sandbox is fixed; this postpones only the end for being idle. */
  async extend(): Promise<void> {
    await this.run('true')
  }

  async restart(): Promise<boolean> {
    const old = this.sandbox
    const image = await asking(() => old.snapshotFilesystem({ ttlMs: snapshotMs }))
    this.sandbox = await asking(() => this.startFrom(image))
    await end(old)
    return true
  }

  async destroy(): Promise<void> {
    await end(this.sandbox)
  }
}

/** Files for a verifier are not needed for longer. */
const snapshotMs = 24 * 3600 * 1000

/** Ends a sandbox; one that is already gone is fine. */
export async function end(sandbox: Modal.Sandbox): Promise<void> {
  try {
    await asking(() => sandbox.terminate())
  } catch (error) {
    if (!(error instanceof BoundaryError) || error.code !== 'SandboxGoneError') throw error
  } finally {
    sandbox.detach()
  }
}

function surroundings({ env = {}, cwd = '/' }: ScriptOptions) {
  return { env: { ...env }, ...(cwd !== null && { workdir: cwd }) }
}

async function readAll<T>(stream: AsyncIterable<T>, take: (chunk: T) => void): Promise<void> {
  for await (const chunk of stream) take(chunk)
}

async function exitOf(process: Modal.ContainerProcess, reading: Promise<void>): Promise<number> {
  reading.catch(() => {})
  const code = await asking(() => process.wait())
  await reading.catch(() => {})
  return code
}
