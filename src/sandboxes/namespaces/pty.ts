import { type EventEmitter, once } from 'node:events'
import { chownSync, closeSync, constants, openSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants as system } from 'node:os'
import { ReadStream } from 'node:tty'
import type { IPty } from '@lydell/node-pty'
import type { Terminal, TerminalOptions } from '../../core/sandbox.ts'
import { patiently } from '../../lib/exhaustion.ts'
import { codeOf } from '../../lib/files.ts'

interface Start {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export interface PtyOptions extends TerminalOptions {
  /** The user and group id on the host as which programs inside may open the terminal; default: this process's. */
  readonly owner?: number | undefined
}

/** Opens a pseudo-terminal on a command; `cleanUp` runs once it has ended, in whatever way. */
export async function openPty(entry: Start, options: PtyOptions, cleanUp: () => Promise<void>): Promise<Terminal> {
  const pty = await patiently(async () => start(entry, options)).catch(async (error: unknown) => {
    await cleanUp()
    throw error
  })
  const input = makePtyInput(pty)
  const exited = new Promise<number>((resolve) => {
    pty.onExit(({ exitCode, signal }) => {
      input.close()
      void cleanUp().finally(() => resolve(signal ? 128 + signal : exitCode))
    })
  })
  let open = true
  void exited.then(() => {
    open = false
  })
  return {
    exited,
    write: (data) => input.write(data),
    onData: (listener) => {
      const subscription = pty.onData(listener)
      return () => subscription.dispose()
    },
    resize: (cols, rows) => {
      if (open) pty.resize(cols, rows)
    },
    close: async () => {
      if (open) pty.kill('SIGKILL')
      await exited
    },
  }
}

/** A program on a terminal that another process of ours started; it emits `exit` with a code and a signal. */
export interface PtyProgram extends EventEmitter {
  kill(): void
  resize(cols: number, rows: number): Promise<unknown>
}

/**
 * The same for a program that another process starts: it avoids a fork of this large process. `start` gets the
 * descriptor of the near end, with which that process opens the far end; listeners must be added to its result at once.
 */
export async function openPtyOf(
  start: (fd: number) => Promise<PtyProgram>,
  cleanUp: () => Promise<void>,
): Promise<Terminal> {
  // Programs started by this process do not inherit it: Node opens files that way.
  const fd = await patiently(async () => openSync('/dev/ptmx', nearEnd)).catch(failed)
  const program = await start(fd).catch((error: unknown) => {
    closeSync(fd)
    return failed(error)
  })
  async function failed(error: unknown): Promise<never> {
    await cleanUp()
    throw error
  }
  const ended = once(program, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  const output = new NearEnd(fd)
  output.setEncoding('utf8').resume()
  const input = new PtyInput(fd)
  // It ends with an error once no program has the far end open.
  output.on('error', () => {})
  const closed = new Promise((resolve) => output.once('close', resolve)).then(() => input.close())
  const exited = ended.then(async ([code, signal]) => {
    const timer = setTimeout(() => output.destroy(), lastWordsMs)
    await closed
    clearTimeout(timer)
    await cleanUp()
    return signal === null ? (code ?? 1) : 128 + system.signals[signal]
  })
  return {
    exited,
    write: (data) => input.write(data),
    onData: (listener) => {
      output.on('data', listener)
      return () => void output.off('data', listener)
    },
    resize: (cols, rows) => {
      if (!output.destroyed) void input.after(output.keepOpen(program.resize(cols, rows)))
    },
    close: async () => {
      program.kill()
      await exited
    },
  }
}

/**
 * The near end of a terminal. Its descriptor stays open while its number is in use elsewhere, so that the number cannot
 * refer to another file.
 */
class NearEnd extends ReadStream {
  private readonly uses = new Set<Promise<unknown>>()

  /** Keeps the descriptor open until `use`, which knows only its number, is done. */
  async keepOpen(use: Promise<unknown>): Promise<void> {
    this.uses.add(use)
    await use.finally(() => this.uses.delete(use))
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    void Promise.allSettled(this.uses).then(() => super._destroy(error, done))
  }
}

/** How long after a program's end we keep reading what it left in its terminal. */
const lastWordsMs = 200

const nearEnd = constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK

/** Not `import`: one that fails because files temporarily cannot be opened fails forever. */
const require = createRequire(import.meta.url)

function start({ program, args, env }: Start, { cols = 160, rows = 40, owner }: PtyOptions): IPty {
  const { spawn } = require('@lydell/node-pty') as typeof import('@lydell/node-pty')
  const pty = spawn(program, [...args], { cols, rows, cwd: '/', env: { ...env }, encoding: 'utf8' })
  // Long before the program inside starts; otherwise no program could open /dev/stderr.
  if (owner !== undefined) chownSync(ptsOf(pty), owner, owner)
  return pty
}

function ptsOf(pty: IPty): string {
  if ('ptsName' in pty && typeof pty.ptsName === 'string') return pty.ptsName
  throw new Error('a terminal without a name')
}

const shortestPauseMs = 2
const longestPauseMs = 50

/**
 * Writes to a pseudo-terminal without ever waiting for its program to read: if the terminal is full, the rest follows
 * later. The library's own write blocks the whole process in that case, and forever if the program in turn waits for us
 * to read its echo.
 */
class PtyInput {
  private queue: Buffer[] = []
  private timer: NodeJS.Timeout | null = null
  private pauseMs = shortestPauseMs
  private isOpen = true
  private holds = 0

  constructor(private readonly fd: number) {}

  write(data: string | Uint8Array): void {
    if (!this.isOpen || data.length === 0) return
    this.queue.push(Buffer.from(data))
    if (this.timer === null) this.flush()
  }

  /** Holds back whatever is written from now on until an event. */
  async after(event: Promise<unknown>): Promise<void> {
    this.holds++
    await event
    this.holds--
    if (this.timer === null) this.flush()
  }

  /** Must be called before the descriptor may belong to another file. */
  close(): void {
    this.isOpen = false
    this.queue = []
    if (this.timer) clearTimeout(this.timer)
  }

  private flush(): void {
    this.timer = null
    for (let head = this.queue[0]; head && this.holds === 0; head = this.queue[0]) {
      const count = this.tryWrite(head)
      if (count === 0) {
        this.later()
        return
      }
      this.pauseMs = shortestPauseMs
      if (count < head.length) this.queue[0] = head.subarray(count)
      else this.queue.shift()
    }
  }

  private later(): void {
    if (!this.isOpen) return
    this.timer = setTimeout(() => this.flush(), this.pauseMs)
    this.pauseMs = Math.min(longestPauseMs, this.pauseMs * 2)
  }

  private tryWrite(data: Buffer): number {
    try {
      return writeSync(this.fd, data)
    } catch (error) {
      // Any other error than a full terminal means that it is gone; its end is reported elsewhere.
      if (codeOf(error) !== 'EAGAIN') this.close()
      return 0
    }
  }
}

/**
 * The descriptor of a pseudo-terminal and the event of its closing: both exist on Linux, but not in the library's
 * types.
 */
function makePtyInput(pty: IPty): { write(data: string | Uint8Array): void; close(): void } {
  if (!('fd' in pty) || typeof pty.fd !== 'number' || !('on' in pty) || typeof pty.on !== 'function') {
    return { write: (data) => pty.write(Buffer.from(data).toString('utf8')), close: () => {} }
  }
  const input = new PtyInput(pty.fd)
  pty.on('close', () => input.close())
  return input
}
