import { EventEmitter, once } from 'node:events'
import { closeSync, constants, mkdirSync, openSync, rmdirSync, rmSync, unlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import { shellQuote } from '../../lib/shell.ts'
import { newId } from './lease-file.ts'
import { isOurs } from './our-dir.ts'
import { cannotStart, Starter } from './starter.ts'

const { O_RDONLY, O_WRONLY, O_RDWR, O_NONBLOCK } = constants
/** How long a shell waits for work before it ends; half of it is how often that is looked at. */
const idleMs = 4000
const pipesAtOnce = 48

/** A program that a starter started, in the form of Node's own child processes. */
export class Launched extends EventEmitter {
  exitCode: number | null = null

  constructor(
    readonly pid: number,
    readonly stdin: Socket | null,
    readonly stdout: Socket | null,
    readonly stderr: Socket,
    /** Descriptor 3. */
    readonly report: Socket,
  ) {
    super()
    report.on('error', () => {})
  }

  get stdio(): readonly (Socket | null)[] {
    return [this.stdin, this.stdout, this.stderr, this.report]
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): boolean {
    try {
      return this.exitCode === null && process.kill(this.pid, signal)
    } catch {
      return false
    }
  }

  /** Told by whoever waits for the program; 128 and more for one that a signal ended. */
  end(exitCode: number): void {
    this.exitCode = exitCode
    this.report.resume()
    this.emit('exit', exitCode, null)
    const outputs = [this.stdout, this.stderr, this.report].filter((stream) => stream !== null)
    const closed = outputs.map((stream) => (stream.closed ? null : once(stream, 'close').catch(() => {})))
    void Promise.all(closed).then(() => this.emit('close', exitCode, null))
  }
}

export interface LaunchOptions {
  /** Shell lines that become the program, with `words` as their arguments. */
  readonly script: string
  readonly words?: readonly string[]
  readonly stdin: 'pipe' | 'ignore'
  readonly stdout: 'pipe' | 'ignore'
}

/** For each descriptor of a program the name of its pipe and our end of it. */
interface Pipes {
  readonly names: readonly (string | null)[]
  readonly held: readonly (number | null)[]
}

const launchers = new Map<string, Launcher>()

/** Starts programs through small shells, each with pipes that no other program ever sees. */
export class Launcher {
  /** The last to become idle is the first to work again, so that what is not needed grows old at the front. */
  private readonly idle: { readonly starter: Starter; readonly sinceMs: number }[] = []
  private tidying: NodeJS.Timeout | null = null
  private readonly pipes: string[] = []
  private growing: Promise<void> | null = null
  private made = 0

  private constructor(private readonly dir: string) {}

  /** The one of this process for a directory, below which pipes have names for a moment. */
  static at(pipesDir: string): Launcher {
    const known = launchers.get(pipesDir)
    if (known) return known
    if (launchers.size === 0) {
      process.once('beforeExit', () => launchers.forEach((launcher) => void launcher.dismiss(Number.POSITIVE_INFINITY)))
      process.once('exit', () => launchers.forEach((launcher) => void launcher.removeDir()))
    }
    const launcher = new Launcher(join(pipesDir, newId()))
    launchers.set(pipesDir, launcher)
    return launcher
  }

  async launch(options: LaunchOptions): Promise<Launched> {
    if (options.words?.some((word) => word.includes('\0')))
      throw new BoundaryError('task', 'a command holds a NUL character', { retryable: false })
    const wanted = [options.stdin === 'pipe', options.stdout === 'pipe', true, true]
    const pipes = (await this.openPipes(wanted)) ?? (await this.openPipes(wanted))
    if (pipes === null) throw cannotStart()
    const { names, held } = pipes
    const starter = this.takeStarter()
    return new Promise((resolve, reject) => {
      let launched: Launched | undefined
      const started = (pid: string) => {
        launched = attach(Number(pid), pipes)
        resolve(launched)
      }
      void starter.run(startLine(options, names), started).then((status) => {
        this.release(starter)
        // It may be over before whoever waits for it has had a chance to listen.
        if (launched) return setImmediate(() => launched?.end(status ?? 137))
        for (const fd of held) if (fd !== null) closeSync(fd)
        for (const name of names) if (name !== null) rmSync(name, { force: true })
        reject(cannotStart())
      })
    })
  }

  /** Opens our ends before the program's, so that nobody waits: a writer's also reads until the program does. */
  private async openPipes(wanted: readonly boolean[]): Promise<Pipes | null> {
    const taken = await this.takePipes(wanted.filter(Boolean).length)
    const names = wanted.map((on) => (on ? (taken.pop() ?? null) : null))
    const held: (number | null)[] = []
    try {
      for (const [i, name] of names.entries())
        held.push(name === null ? null : openSync(name, (i === 0 ? O_RDWR : O_RDONLY) | O_NONBLOCK))
      return { names, held }
    } catch {
      // Somebody tidied up where they lie; the next ones are made anew.
      this.pipes.length = 0
      for (const fd of held) if (fd !== null) closeSync(fd)
      return null
    }
  }

  private takeStarter(): Starter {
    const starter = this.idle.pop()?.starter ?? Starter.open()
    return starter.usable ? starter : this.takeStarter()
  }

  private release(starter: Starter): void {
    if (!starter.usable) return
    this.idle.push({ starter, sinceMs: performance.now() })
    this.tidying ??= setInterval(() => this.dismiss(performance.now() - idleMs), idleMs / 2).unref()
  }

  /** Ends the shells that are idle since then. At the end of this process it waits for them: what they used counts as used by it. */
  private dismiss(sinceMs: number): void {
    const kept = this.idle.findIndex((idle) => idle.sinceMs > sinceMs)
    for (const { starter } of this.idle.splice(0, kept < 0 ? this.idle.length : kept)) starter.close()
    if (this.idle.length > 0 || this.tidying === null) return
    clearInterval(this.tidying)
    this.tidying = null
  }

  private removeDir(): void {
    rmSync(this.dir, { recursive: true, force: true })
    try {
      rmdirSync(dirname(this.dir))
    } catch {
      // Another process has pipes there, or nobody ever had.
    }
  }

  /** Never given out twice: a program may keep its end for as long as it lives. */
  private async takePipes(count: number): Promise<string[]> {
    while (this.pipes.length < count) {
      this.growing ??= this.makePipes()
      await this.growing
    }
    return this.pipes.splice(-count)
  }

  private async makePipes(): Promise<void> {
    mkdirSync(this.dir, { recursive: true, mode: 0o700 })
    // Looked at only now: with something of ours in it, nobody can put another in its place.
    if (!isOurs(dirname(this.dir))) throw cannotStart()
    const fresh = Array.from({ length: pipesAtOnce }, () => join(this.dir, String(this.made++)))
    const starter = this.takeStarter()
    const status = await starter.run(`mkfifo -m 600 ${fresh.map(shellQuote).join(' ')} </dev/null`)
    this.growing = null
    this.release(starter)
    if (status !== 0) throw cannotStart()
    this.pipes.push(...fresh)
  }
}

/** A subshell that opens its ends, tells its number, which the program will have, and becomes the program. */
function startLine({ script, words = [] }: LaunchOptions, names: readonly (string | null)[]): string {
  const [stdin, stdout, stderr, report] = names.map((name) => shellQuote(name ?? '/dev/null'))
  const tell = 'read -r pid rest </proc/self/stat; echo "$pid" >&4; exec 4>&-'
  const set = `set -- ${words.map(shellQuote).join(' ')}`
  return `(\n${tell}\n${set}\n${script}\n) 4>&1 <${stdin} >${stdout} 2>${stderr} 3>${report}`
}

/** Our ends of a started program's pipes, which from now on have no name. */
function attach(pid: number, { names, held }: Pipes): Launched {
  const sockets = names.map((name, i) => {
    const fd = held[i] ?? null
    if (name === null || fd === null) return null
    if (i > 0) return new Socket({ fd, readable: true, writable: false })
    const input = openSync(name, O_WRONLY | O_NONBLOCK)
    closeSync(fd)
    return new Socket({ fd: input, readable: false, writable: true })
  })
  for (const name of names) if (name !== null) unlinkSync(name)
  const [stdin = null, stdout = null, stderr, report] = sockets
  if (!stderr || !report) throw new Error('a program without pipes')
  return new Launched(pid, stdin, stdout, stderr, report)
}
