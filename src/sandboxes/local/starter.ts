import type { ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { constants } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { BoundaryError, messageOf } from '../../core/errors.ts'
import { ExhaustionError, exhaustedBy, exhaustionIn, patiently } from '../../lib/exhaustion.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'
import { cleanEnv } from '../namespaces/as-root-inside.ts'
import { NoTerminalError, requestWords, type StartRequest, starterProgram } from './starter-request.ts'

/** One of a process's streams. It emits `data`. */
class Stream extends EventEmitter {
  constructor(readonly destroy: () => void) {
    super()
  }
}

/** A process that the starter started; it emits `exit` and `close` as a ChildProcess does. */
export class StartedProcess extends EventEmitter {
  exitCode: number | null = null
  signalCode: NodeJS.Signals | null = null
  readonly stdin = null
  readonly stdio: readonly (Stream | null)[]
  private readonly open: Set<number>
  /** Events from before the caller could add listeners. */
  private early: (() => void)[] | null = []
  /** Requests that are not done yet. */
  readonly orders: ((done: boolean) => void)[] = []

  constructor(
    readonly pid: number,
    streams: readonly number[],
    private readonly send: (order: Order, ...words: number[]) => void,
    /** The devices of the overlays that were mounted for it. */
    readonly devices: readonly number[] = [],
  ) {
    super()
    this.open = new Set(streams)
    this.stdio = [0, 1, 2, 3].map((number) => (this.open.has(number) ? new Stream(() => this.drop()) : null))
    setImmediate(() => this.catchUp())
  }

  get stdout(): Stream | null {
    return this.stdio[1] ?? null
  }

  get stderr(): Stream | null {
    return this.stdio[2] ?? null
  }

  get ended(): boolean {
    return this.exitCode !== null || this.signalCode !== null
  }

  kill(): void {
    if (!this.ended) this.send('kill')
  }

  /** For a process on a terminal. False: it has ended. */
  resize(cols: number, rows: number): Promise<boolean> {
    return this.order('resize', cols, rows)
  }

  /**
   * For the first process of a sandbox: it kills all others, and replaces its namespaces except the PID namespace.
   * False: it has ended.
   */
  renew(): Promise<boolean> {
    return this.order('renew')
  }

  private order(verb: 'renew' | 'resize', ...words: number[]): Promise<boolean> {
    if (this.ended) return Promise.resolve(false)
    this.send(verb, ...words)
    return new Promise((resolve) => this.orders.push(resolve))
  }

  /** All streams close together: a reader that needs one of them reads it to its end. */
  private drop(): void {
    if (this.open.size > 0) this.send('drop')
    this.open.clear()
    this.closeIfDone()
  }

  onData(number: number, chunk: Buffer): void {
    this.deliver(() => this.stdio[number]?.emit('data', chunk))
  }

  onEnd(status: number): void {
    this.deliver(() => {
      if (this.ended) return
      const signal = status & 0x7f
      if (signal === 0) this.exitCode = status >> 8
      else this.signalCode = signalNames.get(signal) ?? 'SIGKILL'
      this.emit('exit', this.exitCode, this.signalCode)
      for (const resolve of this.orders.splice(0)) resolve(false)
      this.closeIfDone()
    })
  }

  onStreamEnd(number: number): void {
    this.deliver(() => {
      if (!this.open.delete(number)) return
      this.stdio[number]?.emit('end')
      this.closeIfDone()
    })
  }

  private deliver(event: () => void): void {
    if (this.early) this.early.push(event)
    else event()
  }

  private catchUp(): void {
    const early = this.early ?? []
    this.early = null
    for (const event of early) event()
  }

  private closeIfDone(): void {
    if (this.ended && this.open.size === 0) this.emit('close', this.exitCode, this.signalCode)
  }
}

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]))

type Request = 'start' | 'hold' | 'remove'
type Order = 'renew' | 'kill' | 'drop' | 'resize'

interface Waiting {
  readonly streams: readonly number[]
  readonly resolve: (process: StartedProcess) => void
  readonly reject: (error: Error) => void
}

let current: Promise<Starter> | undefined

/** Starts a program through the one starter of this process. Listeners must be added before anything else is awaited. */
export function startProcess(request: StartRequest): Promise<StartedProcess> {
  return withStarter((starter) => starter.start('start', request))
}

/** Makes the namespaces of a sandbox, with a first process that does nothing. It sees only an empty directory. */
export function holdNamespaces(
  request: Pick<StartRequest, 'ids' | 'namespaces'> & { readonly home: string; readonly plan?: readonly string[] },
): Promise<StartedProcess> {
  const { home, plan = [], ...where } = request
  const start = { ...where, mounts: { home, plan }, argv: [], streams: [2], limitBytes: 64 * 1024 }
  return withStarter((starter) => starter.start('hold', start))
}

/**
 * Removes a directory outside this process, which would wait long for each removal on a disk that discards freed space
 * at once. False: something is left.
 */
export async function removeByStarter(dir: string): Promise<boolean> {
  const process = await withStarter((starter) => starter.remove(dir))
  const [code] = await once(process, 'exit')
  return code === 0
}

function withStarter(work: (starter: Starter) => Promise<StartedProcess>): Promise<StartedProcess> {
  return patiently(async () => {
    current ??= Starter.open(() => {
      current = undefined
    })
    const opening = current
    opening.catch(() => {
      if (current === opening) current = undefined
    })
    return work(await opening)
  })
}

/**
 * A small resident program that starts others: starting a process from our own, large one costs many times as much, and
 * so do the shell and nsenter that would otherwise take it into its namespaces. It ends when our end of its pipe
 * closes.
 */
class Starter {
  private readonly waiting = new Map<number, Waiting>()
  private readonly running = new Map<number, StartedProcess>()
  private received: Buffer = Buffer.alloc(0)
  private count = 0
  private complaint = ''

  private constructor(
    private readonly child: ChildProcess & {
      readonly stdin: Writable
      readonly stdout: Readable
      readonly stderr: Readable
    },
    onEnd: () => void,
  ) {
    child.stdin.on('error', () => {})
    child.stdout.on('data', (chunk: Buffer) => this.receive(chunk))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.complaint = (this.complaint + text).slice(-500)
    })
    child.once('close', () => {
      onEnd()
      this.loseAll()
    })
    this.holdOpen()
  }

  static async open(onEnd: () => void): Promise<Starter> {
    const how = { argv0: 'starter', stdio: 'pipe', detached: true, env: cleanEnv, cwd: '/' } as const
    try {
      return new Starter(await spawnProcess(starterProgram, [], how), onEnd)
    } catch (error) {
      if (exhaustedBy(error) !== null) throw error
      throw new BoundaryError('sandbox', `cannot start sandboxes: ${messageOf(error)}`, { cause: error })
    }
  }

  start(verb: 'start' | 'hold', request: StartRequest): Promise<StartedProcess> {
    // A holder's output is read only while it starts.
    return this.ask(verb, requestWords(request), verb === 'hold' ? [] : request.streams)
  }

  remove(dir: string): Promise<StartedProcess> {
    return this.ask('remove', [dir], [])
  }

  private ask(verb: Request, words: readonly string[], streams: readonly number[]): Promise<StartedProcess> {
    const id = this.count++
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { streams, resolve, reject })
      this.holdOpen()
      this.send(id, verb, words)
    })
  }

  private send(id: number, verb: Request | Order, words: readonly (string | number)[] = []): void {
    const body = Buffer.from([id, verb, ...words].map((word) => `${word}\0`).join(''))
    const length = Buffer.alloc(4)
    length.writeUInt32BE(body.length)
    this.child.stdin.write(Buffer.concat([length, body]))
  }

  private receive(chunk: Buffer): void {
    let rest = this.received.length > 0 ? Buffer.concat([this.received, chunk]) : chunk
    while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE()) {
      const end = 4 + rest.readUInt32BE()
      this.handle(rest.readUInt32BE(4), String.fromCharCode(rest[8] ?? 0), rest.subarray(9, end))
      rest = rest.subarray(end)
    }
    this.received = rest
  }

  private handle(id: number, kind: string, body: Buffer): void {
    if (kind === 'p' || kind === 'f') this.answer(id, kind, body.toString())
    const process = this.running.get(id)
    if (kind === 'd') process?.onData(Number(String.fromCharCode(body[0] ?? 0)), body.subarray(1))
    if (kind === 'e') process?.onStreamEnd(Number(body.toString()))
    if (kind === 'r') process?.orders.shift()?.(true)
    if (kind === 'x') process?.onEnd(Number(body.toString()))
  }

  private answer(id: number, kind: string, text: string): void {
    const waiting = this.waiting.get(id)
    if (waiting === undefined) return
    this.waiting.delete(id)
    if (kind === 'f') {
      const [resource, message] = [exhaustionIn(text), `cannot start a program: ${text}`]
      const Refused = text.startsWith('terminal: ') ? NoTerminalError : Error
      waiting.reject(resource === null ? new Refused(message) : new ExhaustionError(resource, message))
      this.holdOpen()
      return
    }
    const [pid = 0, ...devices] = text.trim().split(' ').map(Number)
    const process = new StartedProcess(pid, waiting.streams, (order, ...words) => this.send(id, order, words), devices)
    this.running.set(id, process)
    process.once('close', () => {
      this.running.delete(id)
      this.holdOpen()
    })
    waiting.resolve(process)
  }

  /** What it started is ending too, or can no longer be tracked. */
  private loseAll(): void {
    const why = this.complaint.trim() || 'it was killed'
    for (const { reject } of this.waiting.values())
      reject(new BoundaryError('sandbox', `the program that starts sandboxes has ended: ${why}`))
    this.waiting.clear()
    for (const process of this.running.values()) {
      for (const number of [1, 2, 3]) process.onStreamEnd(number)
      process.onEnd(9)
    }
  }

  /** It keeps this process alive only while something runs. */
  private holdOpen(): void {
    const busy = this.waiting.size + this.running.size > 0
    for (const part of [this.child, this.child.stdin, this.child.stdout, this.child.stderr]) {
      if (busy && 'ref' in part && typeof part.ref === 'function') part.ref()
      if (!busy && 'unref' in part && typeof part.unref === 'function') part.unref()
    }
  }
}
