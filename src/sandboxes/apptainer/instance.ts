import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { lstat, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import type { ExecOptions, ExecResult, Terminal, TerminalOptions, ToolDir } from '../../core/sandbox.ts'
import type { ControlGroup } from '../../lib/control-group.ts'
import { sleep } from '../../lib/deadline.ts'
import { identify, isEnding, isRunningHere, type ProcessIdentity } from '../../lib/process-identity.ts'
import { shellQuote } from '../../lib/shell.ts'
import { signalProcess, spawnProcess } from '../../lib/spawn-process.ts'
import { cleanEnv } from '../namespaces/as-root-inside.ts'
import { kernelFiles } from '../namespaces/kernel-files.ts'
import { groupOf, type KillableGroup, markedGroup } from '../namespaces/killable.ts'
import { openPty } from '../namespaces/pty.ts'
import { runToEnd } from '../namespaces/run-to-end.ts'
import { type Bind, execArgs, type FlagLimits, insideArgv, type StartRequest, startArgs, stopArgs } from './commands.ts'
import { type Apptainer, joined, programEnv, runProgram } from './program.ts'

export interface InstanceOptions {
  readonly apptainer: Apptainer
  readonly name: string
  readonly dir: string
  readonly image: string
  readonly env: Readonly<Record<string, string>>
  readonly workdir: string
  readonly user: string | number | undefined
  /** Our own control group, where this machine lets us make one. */
  readonly group: ControlGroup | null
  readonly limits: FlagLimits
  readonly network: 'host' | 'none'
  readonly tools: readonly ToolDir[]
}

/** The file in a sandbox's directory that holds its instance name. */
export function nameFile(dir: string): string {
  return join(dir, 'instance-name')
}

/**
 * One container that runs until it is stopped, and its commands. Its writes are in `<dir>/overlay`, or in a scratch
 * directory.
 */
export class Instance {
  /** Host directories by their path inside; changes apply from the next start on. */
  readonly mounts = new Map<string, string>()
  /** Takes everything written from the next start on; when null, writes last as long as the sandbox. */
  scratchDir: string | null = null
  private init: ProcessIdentity | null = null
  private reviving: Promise<void> | null = null
  private readonly idle: KillableGroup[] = []
  private commands = 0
  /** Each start gets a new name: Apptainer forgets the old one only some time after it ends. */
  private starts = 0
  private name = ''

  constructor(readonly options: InstanceOptions) {}

  get alive(): boolean {
    return this.init !== null && isRunningHere(this.init) && !isEnding(this.init.pid)
  }

  /** True when someone else removed it: its files are gone too, or about to be. */
  get isGone(): boolean {
    return !existsSync(nameFile(this.options.dir))
  }

  /** The host's pid of the first process inside. */
  get pid(): number {
    if (this.init === null || !this.alive) throw gone()
    return this.init.pid
  }

  async start(signal?: AbortSignal): Promise<void> {
    const { dir, tools, network } = this.options
    const overlays = [join(dir, 'overlay'), ...(this.scratchDir === null ? [] : [this.scratchDir])]
    for (const overlay of overlays) {
      for (const part of ['upper', 'work']) await mkdir(join(overlay, part), { recursive: true })
      for (const target of this.mounts.keys()) await clearMountPoint(join(overlay, 'upper', target))
    }
    const binds = [
      ...[...this.mounts].map(([target, source]) => ({ source, target })),
      ...tools.map((tool) => ({ ...tool, readOnly: true })),
    ]
    await this.launch({ overlays, binds, network }, signal)
  }

  /**
   * Starts again over its files when its first process has ended, like a machine that was shut down from inside. That
   * process is Apptainer's own, and any signal ends it.
   */
  private async revive(): Promise<void> {
    if (this.reviving === null && (this.init === null || this.isGone)) throw gone()
    if (this.alive) return
    this.reviving ??= this.end()
      .then(() => this.start())
      .finally(() => {
        this.reviving = null
      })
    await this.reviving
  }

  /** Gives the image's own files, as a directory on this machine, to work that is done while the sandbox is stopped. */
  async withImage<T>(work: (root: string) => Promise<T>): Promise<T> {
    const { image } = this.options
    return (await lstat(image)).isDirectory() ? work(image) : this.whileImageRuns(work)
  }

  /** The same for work that must know whether the image starts at all. */
  async whileImageRuns<T>(work: (root: string) => Promise<T>): Promise<T> {
    await this.launch({ overlays: [], binds: [], network: 'none' })
    try {
      const result = await work(`/proc/${this.pid}/root`)
      // Throws if it has ended in the meantime: files of the image would have seemed missing.
      void this.pid
      return result
    } finally {
      await this.stop()
    }
  }

  private async launch(
    what: Pick<StartRequest, 'overlays' | 'binds' | 'network'>,
    signal?: AbortSignal,
  ): Promise<void> {
    const { apptainer, dir, image, limits } = this.options
    this.name = `${this.options.name}-${this.starts++}`
    await writeFile(nameFile(dir), this.name)
    const pidFile = join(dir, 'pid')
    await rm(pidFile, { force: true })
    const binds = [...what.binds, ...(await this.kernelBinds())]
    const start = async (limits: FlagLimits) => {
      const args = startArgs({ ...what, binds, name: this.name, image, privileges: apptainer, pidFile, limits })
      await runProgram(apptainer, args, { before: this.joinScript(this.newGroup()), ...(signal && { signal }) })
    }
    await start(limits).catch((error: unknown) => {
      // An ordinary user may set limits only where systemd allows it; such clusters run everything else without limits,
      // too.
      if (!/cgroup/i.test(String(error)) || Object.keys(limits).length === 0) throw error
      return start({})
    })
    this.init = identify(Number((await readFile(pidFile, 'utf8')).trim()))
    if (!this.alive) throw new BoundaryError('sandbox', 'the instance ended as soon as it was started')
  }

  /** Kernel settings, read-only; files that describe the whole machine are covered by empty ones. */
  private async kernelBinds(): Promise<Bind[]> {
    const empty = join(this.options.dir, 'empty')
    await mkdir(empty, { recursive: true })
    return kernelFiles({ ownedByRootInside: true }).map(({ path, isDirectory, isHidden }) => {
      const source = isHidden ? (isDirectory ? empty : '/dev/null') : path
      return { source, target: path, readOnly: true }
    })
  }

  /** Every other process ends with its first one. */
  async stop(): Promise<void> {
    await this.reviving?.catch(() => {})
    await this.end()
  }

  private async end(): Promise<void> {
    this.idle.length = 0
    const { init } = this
    this.init = null
    if (init === null) await runProgram(this.options.apptainer, stopArgs(this.name)).catch(() => {})
    else if (isRunningHere(init)) signalProcess(init.pid, 'SIGKILL')
    while (init !== null && isRunningHere(init)) await sleep(2)
  }

  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    options.signal?.throwIfAborted()
    await this.revive()
    const { init } = this
    const { child, group } = await this.begin(argv, options)
    try {
      const { code, signal, ...ended } = await runToEnd(child, options, async () => {
        await group.kill()
        child.kill('SIGKILL')
      })
      const hasEnded = init !== null && isEnding(init.pid)
      // The sandbox was removed from outside: the error then says nothing about the command.
      if (hasEnded && init === this.init && this.isGone) throw gone()
      const exitCode = hasEnded ? 137 : signal === null ? (code ?? 1) : 128 + constants.signals[signal]
      return { ...ended, exitCode: ended.timedOut ? 124 : exitCode }
    } finally {
      this.release(group)
    }
  }

  /** Starts a command whose streams the caller handles; `done` ends all of its processes. */
  async spawn(argv: readonly string[], options: ExecOptions = {}) {
    await this.revive()
    const { child, group } = await this.begin(argv, options)
    const done = async () => {
      await group.kill()
      this.release(group)
    }
    return { child, done }
  }

  private async begin(
    argv: readonly string[],
    options: ExecOptions,
  ): Promise<{ child: ChildProcess; group: KillableGroup }> {
    const { apptainer } = this.options
    const group = this.newGroup()
    const { env, words } = this.command(argv, options, group)
    const args = execArgs(this.name, apptainer, words)
    const [program, rest] = joined(apptainer, args, this.joinScript(group))
    try {
      const child = await spawnProcess(program, rest, {
        env: { ...programEnv(apptainer, env), ...group.env },
        cwd: '/',
        stdio: 'pipe',
        detached: true,
      })
      child.on('error', () => {})
      return { child, group }
    } catch (error) {
      this.release(group)
      throw error
    }
  }

  private release(group: KillableGroup): void {
    if (group.release() === 'reuse') this.idle.push(group)
  }

  async openTerminal(options: TerminalOptions): Promise<Terminal> {
    await this.revive()
    const { apptainer, dir } = this.options
    const group = this.newGroup()
    const variables = { TERM: 'xterm-256color', ...options.env }
    const { env, words } = this.command(options.argv ?? ['bash', '-l'], { ...options, env: variables }, group)
    // A file instead of arguments: values may be secrets.
    const envFile = join(dir, `env-${randomBytes(6).toString('hex')}`)
    const lines = Object.entries(programEnv(apptainer, env)).map(([key, value]) => `export ${key}=${shellQuote(value)}`)
    await writeFile(envFile, `${lines.join('\n')}\n`, { mode: 0o600 })
    const before = `. ${shellQuote(envFile)}; rm ${shellQuote(envFile)}\n${this.joinScript(group)}`
    const [program, args] = joined(apptainer, execArgs(this.name, apptainer, words), before)
    return openPty({ program, args, env: { ...cleanEnv, ...group.env } }, options, async () => {
      await group.kill()
      this.release(group)
      await rm(envFile, { force: true })
    })
  }

  private command(argv: readonly string[], options: ExecOptions | TerminalOptions, group: KillableGroup) {
    // Throws when no instance runs.
    void this.pid
    const env = { ...this.options.env, ...options.env, ...group.env }
    const { workdir, user } = this.options
    const words = insideArgv(argv, {
      cwd: options.cwd ?? workdir,
      user: options.user ?? user,
      variables: Object.keys(env),
    })
    return { env, words }
  }

  private newGroup(): KillableGroup {
    const idle = this.idle.pop()
    if (idle) return idle
    const own = this.options.group?.child(`c${this.commands++}`)
    return own ? groupOf(own) : markedGroup()
  }

  private joinScript({ joinFiles }: KillableGroup): string {
    return joinFiles.map((file) => `echo 0 > ${shellQuote(file)} || exit 126`).join('\n')
  }
}

/**
 * Makes sure a mount point is a directory of the sandbox's own: what a program left in its place is removed while no
 * program runs.
 */
async function clearMountPoint(path: string): Promise<void> {
  const there = await lstat(path).catch(() => null)
  if (there !== null && !there.isDirectory()) await rm(path, { force: true })
}

export function gone(): BoundaryError {
  return new BoundaryError('sandbox', 'the sandbox is gone: it was removed by another process', {
    code: 'SandboxGoneError',
  })
}
