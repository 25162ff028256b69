import type { ChildProcess } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { BoundaryError } from '../../core/errors.ts'
import {
  type Door,
  type ExecOptions,
  type ExecResult,
  storageLimit,
  type Terminal,
  type TerminalOptions,
} from '../../core/sandbox.ts'
import { sleep } from '../../lib/deadline.ts'
import { ExhaustionError } from '../../lib/exhaustion.ts'
import { cleanEnv } from '../namespaces/as-root-inside.ts'
import { type KernelFile, kernelFiles } from '../namespaces/kernel-files.ts'
import { CommandGroups } from '../namespaces/killable.ts'
import { defaultLimitBytes, runReported } from '../namespaces/run-to-end.ts'
import { makeDiskMeter } from './disk-use.ts'
import {
  commandArgs,
  keepArgs,
  openOnTerminal,
  openTerminalBy,
  type Prepared,
  seccompFileIn,
  spawnEntry,
  startEntry,
} from './entry.ts'
import { type Holder, openDoor } from './holder.ts'
import {
  hold,
  type MachineFiles,
  type MachineOptions,
  mergedIn,
  newSharedMemory,
  toolPlace,
  writeResolver,
} from './machine-files.ts'
import { noRoom, Storage } from './storage.ts'
import { openUplink, type Uplink } from './uplink.ts'
import { Users } from './users.ts'

/**
 * A running set of namespaces over a stack of overlays. Every command enters from outside, through the starter or
 * bubblewrap, with its own mount namespace, so that privileges are dropped before anything inside can act.
 */
export class Machine {
  network: 'public' | 'none'
  private uplink: Promise<Uplink | null> | undefined
  /** Visible to commands started from now on. */
  readonly mounts = new Map<string, string>()
  private readonly kernelFiles: readonly KernelFile[]
  private readonly groups: CommandGroups
  /** Commands that were prepared and have not ended. */
  private inFlight = 0
  private readonly users: Users
  /** Null without a limit. */
  readonly storage: Storage | null

  private constructor(
    readonly options: MachineOptions,
    private holder: Holder,
  ) {
    this.network = options.network
    this.groups = new CommandGroups(options.group)
    const { mode, ownIds } = options.privileges
    this.kernelFiles = kernelFiles({ ownedByRootInside: mode === 'root' && ownIds === null })
    const getent = async (name: string) => (await this.exec(['getent', 'passwd', name], { user: 'root' })).stdout
    this.users = new Users(options.privileges.manyUsers, getent)
    this.storage = options.storageMb === undefined ? null : this.watchedStorage(options.storageMb)
  }

  static async start(options: MachineOptions): Promise<Machine> {
    const { base, dir, upper, network } = options
    if (base.isForeign) writeResolver(base, upper)
    const machine = new Machine(options, await hold(options, options))
    machine.mounts.set('/dev/shm', newSharedMemory(dir))
    machine.storage?.watch()
    // In parallel with what the caller does first; if it fails, the first command throws the error.
    if (network === 'public') machine.openUplink().catch(() => {})
    return machine
  }

  /**
   * Also false when its files were removed from under it: a command's result then says something about us, not about
   * the command.
   */
  get alive(): boolean {
    return !this.holder.ending && existsSync(this.options.dir)
  }

  holderIdentity(): ReturnType<Holder['identity']> {
    return this.holder.identity()
  }

  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    const full = this.storage?.message
    if (full && this.alive) return noRoom(full)
    const { ownIds } = this.options.privileges
    const byStarter = ownIds !== null && options.stdin === undefined
    const command = await this.prepare(argv, options, { terminal: false, byStarter })
    try {
      const child = byStarter
        ? await startEntry(ownIds, command, options.outputLimitBytes ?? defaultLimitBytes)
        : await spawnEntry(command, options.stdin === undefined ? 'ignore' : 'pipe')
      const { result } = await runReported(child, options, command.group, command.inside ? 'failure' : 'end')
      if (!this.alive) throw broken()
      this.requireMemory()
      const stopped = this.storage?.message
      return stopped ? { ...result, stderr: `${result.stderr}${noRoom(stopped).stderr}` } : result
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
    try {
      const child = await spawnEntry(command, stdin)
      return { child, done: async () => this.finish(command) }
    } catch (error) {
      this.finish(command)
      throw error
    }
  }

  async openTerminal(options: TerminalOptions): Promise<Terminal> {
    const argv = options.argv ?? ['bash', '--login']
    const env = { TERM: 'xterm-256color', ...options.env }
    const { ownIds } = this.options.privileges
    return openTerminalBy(ownIds !== null, async (byStarter) => {
      const command = await this.prepare(argv, { ...options, env }, { terminal: true, byStarter })
      return openOnTerminal({ command, ids: ownIds, byStarter }, options, async () => {
        await command.group.kill()
        this.finish(command)
      })
    })
  }

  async openDoor(accept: (socket: Duplex) => void): Promise<Door> {
    if (!this.alive) throw broken()
    const { outerPid } = this.holder
    return openDoor({ privileges: this.options.privileges, outerPid, netPid: await this.netPid() }, accept)
  }

  /** Kills every process; files and mounts stay, and new commands run in fresh namespaces. */
  async restart(): Promise<void> {
    const old = this.holder
    if (!this.alive) throw broken()
    if (await this.renewed()) return
    this.holder = await old.successor(this.options.privileges, this.options.home).catch((error: unknown) => {
      throw this.alive ? error : broken()
    })
    await old.stop()
    await this.groups.kill()
  }

  /**
   * The same without a new first process. A command on its way in was not killed with the others, so all are killed
   * again until each has ended. False: there is one that does not end.
   */
  private async renewed(): Promise<boolean> {
    if (!(await this.renew())) return false
    if (this.inFlight === 0) return true
    for (let attempt = 0; attempt < 100 && this.inFlight > 0; attempt++) {
      await sleep(Math.min(1 + attempt, 20))
      await this.groups.kill()
    }
    return this.inFlight === 0 && this.renew()
  }

  private async renew(): Promise<boolean> {
    const isNew = await this.holder.renew()
    if (isNew === false) throw broken()
    if (isNew) await this.groups.kill()
    return isNew ?? false
  }

  async stop(): Promise<void> {
    this.storage?.unwatch()
    await this.holder.stop()
    const uplink = await this.uplink?.catch(() => null)
    this.uplink = undefined
    await Promise.all([uplink?.close(), this.groups.kill()])
  }

  /** Removes anything but a directory from the root of the sandbox, while no program runs inside. */
  removeFromRoot(path: string): Promise<void> {
    return this.holder.removeFile(this.options.privileges, join(mergedIn(this.options.home), path))
  }

  /** A process in the network for commands that start now. */
  private async netPid(): Promise<number> {
    if (this.network === 'none') return this.holder.innerPid
    const uplink = await this.openUplink()
    if (uplink === null) return this.holder.innerPid
    if (!uplink.alive) throw broken('the program that provides its network has exited')
    return uplink.pid
  }

  private openUplink(): Promise<Uplink | null> {
    this.uplink ??= openUplink(this.options.privileges, this.holder.outerPid)
    return this.uplink
  }

  /**
   * Kills every process and removes the mounts, so that the files below may be changed from outside. Only `resume` ends
   * that.
   */
  async halt(): Promise<void> {
    if (!this.alive) throw broken()
    await this.stop()
  }

  /** Starts a halted machine over other files. */
  async resume(files: MachineFiles): Promise<void> {
    this.users.clear()
    this.holder = await hold(this.options, files)
    this.storage?.watch()
  }

  private async prepare(
    argv: readonly string[],
    options: ExecOptions | TerminalOptions,
    { terminal, byStarter = false }: { readonly terminal: boolean; readonly byStarter?: boolean },
  ): Promise<Prepared> {
    if (!this.alive) throw broken()
    const full = this.storage?.message
    if (full) throw new BoundaryError('agent', full, { code: storageLimit, retryable: false })
    if ('signal' in options) options.signal?.throwIfAborted()
    const who = await this.users.resolve(options.user ?? this.options.user)
    const netPid = await this.netPid()
    const group = this.groups.take()
    const env = { ...cleanEnv, HOME: who.home, ...this.options.env, ...options.env, ...group.env }
    const { dir, home, privileges } = this.options
    const request = {
      merged: mergedIn(home),
      kernelFiles: this.kernelFiles,
      mounts: [...this.mounts],
      readOnly: this.toolDirs(),
      env,
      cwd: options.cwd ?? this.options.workdir,
      newSession: !terminal,
      userns: privileges.usernsPid !== null,
    }
    // Without control groups, processes are found by a variable that only a program other than the starter can carry.
    const inside = byStarter && group.joinFiles.length > 0 ? request : null
    const args = inside ? [] : keepArgs(commandArgs(request), dir, byStarter)
    const enter = {
      privileges,
      outerPid: this.holder.outerPid,
      innerPid: this.holder.innerPid,
      netPid,
      args,
      seccompFile: seccompFileIn(home),
      joinFiles: group.joinFiles,
      report: !terminal,
    }
    this.inFlight++
    return { enter, inside, argv: [...who.prefix, ...argv], group }
  }

  private toolDirs(): [target: string, source: string][] {
    const { dir, privileges, toolDirs = [] } = this.options
    return toolDirs.map(({ source, target }, index) => [target, privileges.ownIds ? toolPlace(dir, index) : source])
  }

  /**
   * A command's output is no result after the kernel killed some of the sandbox's programs for reasons other than their
   * own memory use.
   */
  private requireMemory(): void {
    const why = 'the system killed programs in the sandbox because this machine has none left'
    if (this.options.group?.lostToOthers()) throw new ExhaustionError('memory', why)
  }

  private watchedStorage(limitMb: number): Storage {
    const { home, dir, privileges, group } = this.options
    const pids = () => group?.pids() ?? []
    const measure = makeDiskMeter({ dir, privileges, pids, holder: () => this.holder })
    return new Storage({ limitMb, home, measure, stop: () => this.groups.kill() })
  }

  private finish({ enter: { args }, group }: Prepared): void {
    this.inFlight--
    if (typeof args === 'string') rmSync(args, { force: true })
    this.groups.release(group)
  }
}

function broken(why = 'its first process has ended or its files were removed'): BoundaryError {
  return new BoundaryError('sandbox', `the sandbox is gone: ${why}`, { code: 'SandboxGoneError' })
}
