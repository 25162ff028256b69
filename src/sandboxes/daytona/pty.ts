import { randomBytes } from 'node:crypto'
import type { Sandbox } from '@daytonaio/sdk'
import { shellQuote } from '../../lib/shell.ts'
import { cloudFailure } from '../cloud/failures.ts'
import type { PtyOptions, RemotePty } from '../cloud/machine.ts'
import { patiently } from './failures.ts'

type Process = Sandbox['process']
type Handle = Awaited<ReturnType<Process['createPty']>>

/** What is needed to start a program on a terminal. */
export interface PtyMachine {
  readonly process: Process
  put(path: string, data: Uint8Array): Promise<void>
  alive(): Promise<boolean>
}

/**
 * Starts a script on a new pseudo-terminal. The provider's terminals start with a shell, which greets and echoes: the
 * shell is replaced by our script, whose first output cannot be an echo, and everything before it is discarded.
 */
export async function openPty(machine: PtyMachine, script: string, options: PtyOptions): Promise<RemotePty> {
  const ready = randomBytes(12).toString('hex')
  const path = `/var/tmp/ot-agent-pty-${randomBytes(8).toString('hex')}`
  const exports = Object.entries(options.env ?? {}).map(([name, value]) => `export ${name}=${shellQuote(value)}`)
  const enter = options.cwd ? [`cd ${shellQuote(options.cwd)} || exit 126`] : []
  const text = [`rm -f ${path}`, ...exports, ...enter, `printf %s ${ready}`, script].join('\n')
  await machine.put(path, Buffer.from(`${text}\n`))
  const connection = await Connection.open(machine, { ...options, onData: after(ready, options.onData) })
  await connection.write(Buffer.from(` exec sh ${path}\n`))
  return connection
}

/** Passes on everything after a given word. */
function after(word: string, onData: (data: Uint8Array) => void): (data: Uint8Array) => void {
  let before: Buffer | null = Buffer.alloc(0)
  return (data) => {
    if (before === null) return onData(data)
    before = Buffer.concat([before, data])
    const at = before.indexOf(word)
    if (at < 0) return
    const rest = before.subarray(at + word.length)
    before = null
    if (rest.length > 0) onData(rest)
  }
}

const reconnectTries = 4

/** A terminal whose connection is re-established when it breaks. */
class Connection implements RemotePty {
  readonly exited: Promise<number>
  private killed = false
  /** The connection in use, or the one being made. */
  private handle: Promise<Handle>

  private constructor(
    private readonly machine: PtyMachine,
    private readonly id: string,
    private readonly onData: (data: Uint8Array) => void,
    first: Handle,
  ) {
    this.handle = Promise.resolve(first)
    this.exited = this.follow(first)
    this.exited.catch(() => {})
  }

  static async open(machine: PtyMachine, options: PtyOptions): Promise<Connection> {
    const { cols, rows, onData } = options
    const make = async () => {
      const id = `ot-agent-${randomBytes(8).toString('hex')}`
      return { id, handle: await machine.process.createPty({ id, cols, rows, cwd: '/', onData }) }
    }
    const { id, handle } = await patiently(make, { doing: 'cannot open a terminal' })
    return new Connection(machine, id, onData, handle)
  }

  async write(data: Uint8Array): Promise<void> {
    const handle = await this.handle
    await handle.sendInput(data)
  }

  async resize(cols: number, rows: number): Promise<void> {
    await patiently(() => this.machine.process.resizePtySession(this.id, cols, rows), {
      doing: 'cannot resize a terminal',
    })
  }

  async kill(): Promise<void> {
    this.killed = true
    await patiently(() => this.machine.process.killPtySession(this.id), { doing: 'cannot end a terminal' }).catch(
      () => {},
    )
    await (await this.handle).disconnect().catch(() => {})
  }

  private async follow(first: Handle): Promise<number> {
    for (let handle = first; ; ) {
      const code = await handle.wait().then(
        ({ exitCode }) => exitCode,
        () => undefined,
      )
      if (code !== undefined) return code
      if (this.killed) return 137
      this.handle = this.reconnect()
      this.handle.catch(() => {})
      handle = await this.handle
    }
  }

  private async reconnect(): Promise<Handle> {
    for (let attempt = 1; attempt <= reconnectTries && !this.killed; attempt++) {
      try {
        return await patiently(() => this.machine.process.connectPty(this.id, { onData: this.onData }), {
          doing: 'cannot reconnect to a terminal',
        })
      } catch {
        if (!(await this.machine.alive().catch(() => true))) break
      }
    }
    throw cloudFailure('SandboxLostError', 'the connection to a terminal was lost')
  }
}
