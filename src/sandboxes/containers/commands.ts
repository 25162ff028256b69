import { randomBytes } from 'node:crypto'
import { BoundaryError } from '../../core/errors.ts'
import type { ExecOptions, ExecResult } from '../../core/sandbox.ts'
import type { User } from '../../core/task.ts'
import { sleep } from '../../lib/deadline.ts'
import { Capped } from './capped.ts'
import { endCode } from './container.ts'
import type { ContainerEngine } from './container-engine.ts'
import { gone, startAgain } from './container-state.ts'
import { commandVariable, pipeBytes, renderCommand, renderKill } from './script.ts'
import { Shell, type ShellEnd, type Sinks } from './shell.ts'

const defaultLimitBytes = 1024 * 1024
/** Longer scripts cost more to read than starting a separate shell. */
const scriptBytes = 256 * 1024
/** How long it may take until we notice that a killed command is gone. */
const killedMs = 10_000
const killAgainMs = 100
/** More than the pids of all processes a container may have. */
const listBytes = 64 * 1024

interface StreamedOptions extends Omit<ExecOptions, 'stdin' | 'outputLimitBytes'> {
  readonly sinks: Sinks
}

/**
 * Runs commands in one container through shells that stay open: a round trip is a write and a read on an existing
 * connection. A shell serves the next command only when nothing of the previous one still holds its streams.
 */
export class Commands {
  /** By user. */
  private readonly idle = new Map<string, Shell[]>()
  private readonly open = new Set<Shell>()
  /** Being opened, by user. */
  private readonly spares = new Map<string, Promise<void>>()
  private reviving: Promise<void> | undefined
  /** The shell on the streams of process 1. */
  private channel: Shell | undefined
  private closed = false

  constructor(
    private readonly engine: ContainerEngine,
    readonly container: string,
    private readonly defaults: { readonly user: User; readonly cwd: string },
    /** Called with single lines of progress. */
    private readonly log: (line: string) => void = () => {},
  ) {}

  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    const out = new Capped(options.outputLimitBytes ?? defaultLimitBytes)
    const err = new Capped(options.outputLimitBytes ?? defaultLimitBytes)
    const { stdin, ...rest } = options
    const data = stdin === undefined ? undefined : Buffer.from(stdin)
    const ended = await this.perform(argv, { ...rest, sinks: { stdout: out.take, stderr: err.take } }, data)
    return { ...ended, stdout: out.text(), stderr: err.text(), truncated: out.isCut || err.isCut }
  }

  /** Kills all processes of a command or terminal with that mark, whichever user they run as. */
  async kill(mark: string, user: User): Promise<void> {
    // Only its own user can read a process's variables, and only root can signal every process: each passes what it
    // found to the next.
    let known = ' '
    for (const who of isRoot(user) ? ['0'] : [keyOf(user), '0']) {
      const shell = await this.take(who)
      const done = randomBytes(12).toString('hex')
      let found = ''
      const collect = (chunk: Buffer) => {
        if (found.length < listBytes) found += chunk
        return true
      }
      const end = await shell.run(renderKill(mark, known, done), done, { stdout: collect, stderr: () => true })
      this.give(who, shell, end)
      known = ` ${found.match(/\d+/g)?.join(' ') ?? ''} `
    }
  }

  /** Opens a shell before it is needed. */
  warm(user: User = this.defaults.user): void {
    const key = keyOf(user)
    void this.spareFrom(key, this.start(key))
  }

  /**
   * Takes over root's shell that the container starts with; `lostMark` as for a shell. If that fails, shells are
   * started as for any other container.
   */
  attach(lostMark: string): Promise<void> {
    const attached = Shell.attach(this.engine, this.container, lostMark).then((shell) => {
      this.open.add(shell)
      this.channel = shell
      return shell
    })
    return this.spareFrom('0', attached)
  }

  private spareFrom(key: string, opening: Promise<Shell>): Promise<void> {
    const put = opening.then((shell) => this.put(key, shell)).catch(() => {})
    this.spares.set(key, put)
    return put
  }

  /** Closes every connection; what runs inside ends with the container. A start of it that was asked for is over then. */
  async close(): Promise<void> {
    this.closed = true
    for (const shell of this.open) shell.close()
    await this.reviving?.catch(() => {})
  }

  /** Runs no more commands and asks process 1 to end; false when the shell that it waits for cannot be asked. */
  leave(): boolean {
    const isIdle = !this.reviving && this.channel?.alive && this.idle.get('0')?.includes(this.channel)
    this.closed = true
    if (isIdle) this.channel?.stdin.write(`exit ${endCode}\n`)
    return isIdle === true
  }

  /**
   * Makes sure that the container runs, and starts it again if it has ended; false if that fails. A shell that answers
   * is proof enough, and the fastest check.
   */
  async alive(): Promise<boolean> {
    const shell = this.closed ? undefined : this.idle.get('0')?.pop()
    if (shell && (await shell.answers())) {
      this.put('0', shell)
      return true
    }
    if (shell) this.drop(shell)
    return this.revive().then(
      () => true,
      () => false,
    )
  }

  private async perform(
    argv: readonly string[],
    options: StreamedOptions,
    data?: Buffer,
    attempt = 1,
  ): Promise<{ exitCode: number; timedOut: boolean }> {
    const { signal, timeoutSec, sinks } = options
    signal?.throwIfAborted()
    const user = options.user ?? this.defaults.user
    // Two names, because one of them is in the variables, which the command may print.
    const [label, mark] = [randomBytes(12).toString('hex'), randomBytes(16).toString('hex')]
    const run = await this.begin(argv, { ...options, user, label, mark, data })
    const running = run.end(sinks)
    let timedOut = false
    let stop = () => {}
    // Resolves only after a stop was requested: we must not wait forever for a command whose end cannot be seen.
    const stopped = new Promise<ShellEnd>((resolve) => {
      stop = () =>
        void this.killUntil(running, label, user, run.shell).then(() => resolve({ kind: 'lost', started: true }))
    })
    const late = () => {
      timedOut = true
      stop()
    }
    const timer = timeoutSec === undefined ? undefined : setTimeout(late, Math.min(timeoutSec * 1000, 2 ** 31 - 1))
    signal?.addEventListener('abort', stop, { once: true })
    // The abort may have happened while a shell was being opened.
    if (signal?.aborted) stop()
    try {
      const first = await Promise.race([running, stopped])
      const end = timedOut || signal?.aborted ? await stopped : first
      run.release(end)
      signal?.throwIfAborted()
      if (timedOut) return { exitCode: 124, timedOut }
      if (end.kind === 'ended') return { exitCode: end.exitCode, timedOut }
      await this.revive()
      // The shell was killed while idle, before we noticed.
      if (!end.started && attempt < 5) return await this.perform(argv, options, data, attempt + 1)
      return { exitCode: 137, timedOut }
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
    }
  }

  /** Kills a command repeatedly until it has ended: one that is about to start is not found at first. */
  private async killUntil(running: Promise<ShellEnd>, label: string, user: User, shell: Shell): Promise<void> {
    const last = performance.now() + killedMs
    for (let isOver = false; !isOver && performance.now() < last; ) {
      await this.kill(label, user).catch(() => {})
      shell.resume()
      isOver = await Promise.race([running.then(() => true), sleep(killAgainMs).then(() => false)])
    }
  }

  private async begin(
    argv: readonly string[],
    {
      user,
      label,
      mark,
      data,
      ...options
    }: StreamedOptions & { user: User; label: string; mark: string; data: Buffer | undefined },
  ) {
    const env = { ...options.env, [commandVariable]: label }
    const cwd = options.cwd ?? this.defaults.cwd
    const piped = data === undefined || data.length <= pipeBytes
    const script = renderCommand({ argv, cwd, env, mark, stdin: piped ? (data ?? 'none') : 'own' })
    const key = keyOf(user)
    if (piped && script.length <= scriptBytes) {
      const shell = await this.take(key)
      return {
        shell,
        end: (sinks: Sinks) => shell.run(script, mark, sinks),
        release: (end: ShellEnd) => this.give(key, shell, end),
      }
    }
    const shell = await this.started(() => Shell.once(this.engine, this.container, script, user))
    return {
      shell,
      end: (sinks: Sinks) => {
        const ended = shell.run(null, mark, sinks)
        if (data) shell.stdin.write(data)
        shell.stdin.end()
        return ended
      },
      release: () => this.drop(shell),
    }
  }

  private async take(key: string): Promise<Shell> {
    if (this.closed) throw gone()
    for (;;) {
      const shell = this.idle.get(key)?.pop() ?? (await this.spare(key)) ?? (await this.start(key))
      if (shell.alive) return shell
      this.drop(shell)
      await this.revive()
    }
  }

  /** The shell that is already being opened, unless another command takes it first. */
  private async spare(key: string): Promise<Shell | undefined> {
    const opening = this.spares.get(key)
    this.spares.delete(key)
    await opening
    return this.idle.get(key)?.pop()
  }

  private give(key: string, shell: Shell, end: ShellEnd): void {
    // An ordinary user's shell cannot see who else holds its streams, so it serves only once.
    if (end.kind === 'ended' && end.reusable && isRoot(key)) this.put(key, shell)
    else {
      this.drop(shell)
      if (!this.closed && (this.idle.get(key)?.length ?? 0) === 0) this.warm(key)
    }
  }

  private put(key: string, shell: Shell): void {
    if (this.closed) {
      shell.close()
      return
    }
    const shells = this.idle.get(key) ?? []
    shells.push(shell)
    this.idle.set(key, shells)
  }

  private drop(shell: Shell): void {
    this.open.delete(shell)
    shell.close()
  }

  private start(key: string): Promise<Shell> {
    return this.started(() => Shell.open(this.engine, this.container, key))
  }

  /** Opens a shell; if the container turns out to have ended, it is started again first. */
  private async started(open: () => Promise<Shell>): Promise<Shell> {
    for (let attempt = 1; ; attempt++) {
      try {
        const shell = await open()
        this.open.add(shell)
        return shell
      } catch (error) {
        const isGone = error instanceof BoundaryError && error.code === 'SandboxGoneError'
        if (!isGone || this.closed || attempt === 5) throw error
        // The engine may not have noticed the end yet.
        await sleep(50 * attempt)
        await this.revive()
      }
    }
  }

  /**
   * Starts the container again when it has ended. A program inside can make process 1 end, for example by tracing it:
   * that is like shutting down its machine, and no failure of ours. The files are still there, the processes are dead.
   */
  async revive(): Promise<void> {
    const about = { isClosed: () => this.closed, log: this.log }
    this.reviving ??= startAgain(this.engine, this.container, about).finally(() => {
      this.reviving = undefined
    })
    return this.reviving
  }
}

/** Whether a user is root, whose shells serve one command after another. */
export const isRoot = (user: User): boolean => ['root', '0'].includes(String(user))

function keyOf(user: User): string {
  return isRoot(user) ? '0' : String(user)
}
