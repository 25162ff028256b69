import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { BoundaryError } from '../../core/errors.ts'
import type { Door, ExecOptions, ExecResult, Terminal, TerminalOptions } from '../../core/sandbox.ts'
import type { User } from '../../core/task.ts'
import type { ControlGroup } from '../../lib/control-group.ts'
import type { Base } from './base.ts'
import { shell } from './descriptors.ts'
import { openDoor } from './door.ts'
import { commandArgs, type Entry, type EntryRequest, enterScript } from './entry.ts'
import { cleanEnv, Holder, overlayLine } from './holder.ts'
import { groupOf, type KillableGroup, markedGroup } from './killable.ts'
import type { Privileges } from './privileges.ts'
import { openPty } from './pty.ts'
import { runReported } from './run-reported.ts'

export interface MachineOptions {
  /** The directory that holds bases, layers and machines. */
  readonly home: string
  /** A private directory of this machine. */
  readonly dir: string
  readonly base: Base
  /** Absolute layer directories, bottom to top. */
  readonly layers: readonly string[]
  /** Receives every change; afterwards it is itself a layer. */
  readonly upper: string
  readonly privileges: Privileges
  /** Null where this process cannot make control groups. */
  readonly group: ControlGroup | null
  readonly env: Readonly<Record<string, string>>
  readonly workdir: string
  readonly user?: User | undefined
  readonly network: 'host' | 'none'
}

/**
 * A running set of namespaces over a stack of overlays. Every command enters through bubblewrap itself,
 * with a mount namespace of its own, so that privileges are dropped before anything inside can act.
 */
export class Machine {
  network: 'host' | 'none'
  /** Seen by commands started from now on. */
  readonly mounts = new Map<string, string>()
  /** The same, read-only; set before the first command, so that none can put a link in their place. */
  readonly toolDirs = new Map<string, string>()
  private readonly groups = new Set<KillableGroup>()
  private readonly freeGroups: KillableGroup[] = []
  private commands = 0

  private constructor(
    readonly options: MachineOptions,
    private holder: Holder,
  ) {
    this.network = options.network
  }

  static async start(options: MachineOptions): Promise<Machine> {
    const { base, dir, home, layers, upper, privileges } = options
    const places = { home, layers, upper, work: join(dir, 'work'), merged: join(dir, 'merged') }
    mkdirSync(places.merged, { recursive: true })
    makeDir(join(dir, 'shm'), 0o1777)
    for (const { name } of base.overlays) {
      makeDir(join(upper, name), 0o755)
      makeDir(join(places.work, name), 0o700)
    }
    const overlays = join(dir, 'overlays')
    writeFileSync(overlays, base.overlays.map((overlay) => overlayLine(overlay, places, privileges)).join(''))
    const holder = await Holder.start(privileges, overlays, home)
    return new Machine(options, holder)
  }

  get alive(): boolean {
    return this.holder.alive
  }

  holderIdentity(): ReturnType<Holder['identity']> {
    return this.holder.identity()
  }

  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    const command = await this.prepare(argv, options, { terminal: false })
    try {
      const child = this.spawnEntry(command.entry, options.stdin === undefined ? 'ignore' : 'pipe')
      const result = await runReported(child, options, command.group)
      if (!result.started && !this.alive) throw broken()
      return result.result
    } finally {
      this.finish(command)
    }
  }

  /** Starts a command whose streams the caller handles; `done` must be called once it has ended. */
  async spawn(
    argv: readonly string[],
    options: ExecOptions = {},
    stdin: 'pipe' | 'ignore' = 'pipe',
  ): Promise<{ child: ChildProcess; done: () => Promise<void> }> {
    const command = await this.prepare(argv, options, { terminal: false })
    const child = this.spawnEntry(command.entry, stdin)
    return { child, done: async () => this.finish(command) }
  }

  async openTerminal(options: TerminalOptions): Promise<Terminal> {
    const argv = options.argv ?? ['bash', '--login']
    const env = { TERM: 'xterm-256color', ...options.env }
    const command = await this.prepare(argv, { ...options, env }, { terminal: true })
    return openPty(command.entry, options, async () => {
      await command.group.kill()
      this.finish(command)
    })
  }

  openDoor(accept: (socket: Duplex) => void): Promise<Door> {
    if (!this.alive) throw broken()
    const { outerPid, innerPid } = this.holder
    return openDoor({ privileges: this.options.privileges, outerPid, innerPid, network: this.network }, accept)
  }

  /** Kills every process; files and mounts stay, and new commands run in fresh namespaces. */
  async restart(): Promise<void> {
    const old = this.holder
    if (!old.alive) throw broken()
    this.holder = await old.successor(this.options.privileges)
    await old.stop()
    await Promise.all([...this.groups].map((group) => group.kill()))
  }

  async stop(): Promise<void> {
    await this.holder.stop()
    await Promise.all([...this.groups].map((group) => group.kill()))
  }

  private async prepare(
    argv: readonly string[],
    options: ExecOptions | TerminalOptions,
    { terminal }: { terminal: boolean },
  ): Promise<Prepared> {
    if (!this.alive) throw broken()
    if ('signal' in options) options.signal?.throwIfAborted()
    const who = await this.resolveUser(options.user ?? this.options.user)
    const group = this.makeGroup()
    const env = { ...cleanEnv, HOME: who.home, ...this.options.env, ...options.env, ...group.env }
    const { dir, privileges } = this.options
    const request: EntryRequest = {
      merged: join(dir, 'merged'),
      mounts: [['/dev/shm', join(dir, 'shm')], ...this.mounts],
      readOnly: [...this.toolDirs],
      env,
      cwd: options.cwd ?? this.options.workdir,
      newSession: !terminal,
      userns: privileges.usernsPid !== null,
    }
    const argsFile = join(dir, `command-${this.commands}-${randomBytes(4).toString('hex')}.args`)
    writeFileSync(argsFile, commandArgs(request), { mode: 0o600 })
    const network = this.network === 'none'
    const script = enterScript({
      privileges,
      outerPid: this.holder.outerPid,
      innerPid: this.holder.innerPid,
      network,
      argsFile,
      joinFiles: group.joinFiles,
      report: !terminal,
    })
    return { entry: { program: shell, args: ['-c', script, 'sh', ...who.prefix, ...argv] }, argsFile, group }
  }

  private makeGroup(): KillableGroup {
    const free = this.freeGroups.pop()
    if (free) return free
    const made = this.options.group?.child(`command-${this.groups.size}`)
    const group = made ? groupOf(made) : markedGroup(this.holder.innerPid)
    this.groups.add(group)
    return group
  }

  private spawnEntry(entry: Entry, stdin: 'ignore' | 'pipe'): ChildProcess {
    return spawn(entry.program, entry.args, {
      // Under its own name bash takes a socket on stdin for a remote login and reads the host's ~/.bashrc first.
      argv0: 'sh',
      stdio: [stdin, 'pipe', 'pipe', 'pipe'],
      detached: true,
      env: cleanEnv,
      cwd: '/',
    })
  }

  private finish({ argsFile, group }: Prepared): void {
    rmSync(argsFile, { force: true })
    const next = group.release()
    if (next === 'reuse') this.freeGroups.push(group)
    if (next === 'forget') this.groups.delete(group)
  }

  private readonly users = new Map<User, ResolvedUser>()

  private async resolveUser(user: User | undefined): Promise<ResolvedUser> {
    if (user === undefined || user === 'root' || user === 0 || user === '0') return root
    const known = this.users.get(user)
    if (known) return known
    if (!this.options.privileges.manyUsers) {
      throw new BoundaryError(
        'sandbox',
        `cannot run as user ${user}: only one user id is available here (install uidmap and a range in /etc/subuid, or run as root)`,
        { retryable: false },
      )
    }
    const [name = '', groupName] = String(user).split(':')
    const line = (await this.exec(['getent', 'passwd', name], { user: 'root' })).stdout.split(':')
    const isNumber = /^\d+$/.test(name)
    if (line.length < 6 && !isNumber)
      throw new BoundaryError('task', `the sandbox has no user ${JSON.stringify(name)}`, { retryable: false })
    const uid = line[2] ?? name
    const gid = groupName ?? line[3] ?? name
    const groups = line.length < 6 ? '--clear-groups' : '--init-groups'
    const resolved = { home: line[5] || '/', prefix: ['setpriv', '--reuid', uid, '--regid', gid, groups, '--'] }
    this.users.set(user, resolved)
    return resolved
  }
}

/** Its mode does not depend on the umask of whoever runs us: it decides what users inside may enter. */
function makeDir(path: string, mode: number): void {
  mkdirSync(path, { recursive: true })
  chmodSync(path, mode)
}

interface Prepared {
  readonly entry: Entry
  readonly argsFile: string
  readonly group: KillableGroup
}

interface ResolvedUser {
  readonly home: string
  /** Words before the command; they run inside, where root has no more power than any root program there. */
  readonly prefix: readonly string[]
}

const root: ResolvedUser = { home: '/root', prefix: [] }

function broken(): BoundaryError {
  return new BoundaryError('sandbox', 'the sandbox is gone: its first process has ended', { code: 'SandboxGoneError' })
}
