import type { ChildProcess } from 'node:child_process'
import { type EventEmitter, once } from 'node:events'
import { lstatSync, readlinkSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { BoundaryError, messageOf } from '../../core/errors.ts'
import type { Door } from '../../core/sandbox.ts'
import { exhaustionCause } from '../../lib/exhaustion.ts'
import { identify, isEnding, type ProcessIdentity } from '../../lib/process-identity.ts'
import { shellQuote } from '../../lib/shell.ts'
import { execProcess, signalProcess, spawnProcess } from '../../lib/spawn-process.ts'
import { cleanEnv, closeInherited, shell } from '../namespaces/as-root-inside.ts'
import { openDoor as openDoorInto } from '../namespaces/door.ts'
import { collect, type OutputStream, type RunningCommand } from '../namespaces/run-to-end.ts'
import type { OwnIds } from './own-ids.ts'
import type { Privileges } from './privileges.ts'
import { holdNamespaces, type StartedProcess } from './starter.ts'

/** A ChildProcess, or a process of the starter's. */
type Process = Pick<ChildProcess, 'pid' | 'exitCode' | 'signalCode'> & RunningCommand

/**
 * The namespaces of a sandbox, kept open by a sleeping process that sees only the host's read-only programs. It never
 * runs a byte that an agent can write. Killing it kills every process of the sandbox.
 */
export class Holder {
  /** Runs outside, in the mount namespace where the overlays are mounted. */
  readonly outerPid: number
  /** Process 1 of the sandbox, by its pid on the host. */
  readonly innerPid: number
  private readonly gone: Promise<unknown>

  private constructor(
    private readonly child: Process,
    pids: { readonly outer: number; readonly inner: number },
    /** The same, if the starter started it. */
    private readonly started: StartedProcess | null = null,
    private readonly earlier: Holder | null = null,
  ) {
    this.outerPid = pids.outer
    this.innerPid = pids.inner
    this.gone =
      child.exitCode === null && child.signalCode === null ? once(child, 'exit').catch(() => {}) : Promise.resolve()
  }

  /** Makes a mount namespace with the overlays listed in a file, and the other namespaces. */
  static async start(privileges: Privileges, overlays: string, home: string): Promise<Holder> {
    const limit = privileges.mode === 'user' ? ['echo 0 > /proc/sys/user/max_user_namespaces'] : []
    // Uses the system call that takes a page of options: with the newer ones, mount of util-linux 2.39 and later
    // refuses more than 255 characters of layers.
    const mount = `LIBMOUNT_FORCE_MOUNT2=always mount -n -a -T ${shellQuote(overlays)}`
    const script = ['set -e', ...closeInherited, mount, ...limit, `exec bwrap ${bwrapWords(privileges)}`].join('\n')
    return Holder.launch('unshare', [...privileges.unshare, shell, '-c', script], home)
  }

  /** The same for sandboxes whose users have their own ids; `plan` says what is mounted. */
  static hold(ids: OwnIds, plan: readonly string[], home: string): Promise<Holder> {
    return Holder.held({ ids, home, plan })
  }

  /** Makes fresh namespaces over the same mounts, when every process of this one must go. */
  async successor(privileges: Privileges, home: string): Promise<Holder> {
    const mountNamespace = `/proc/${this.outerPid}/ns/mnt`
    if (privileges.ownIds) return Holder.held({ ids: privileges.ownIds, home, namespaces: [mountNamespace] }, this)
    const enter = [...enterUser(privileges, this.outerPid), `--mount=${mountNamespace}`].join(' ')
    const script = [...closeInherited, `exec nsenter ${enter} bwrap ${bwrapWords(privileges)}`].join('\n')
    return Holder.launch(shell, ['-c', script], '/')
  }

  /** Through the starter: the first process inside is the only one, and is known at once. */
  private static async held(
    request: Parameters<typeof holdNamespaces>[0],
    earlier: Holder | null = null,
  ): Promise<Holder> {
    const process = await holdNamespaces(request).catch((error: unknown) => {
      if (error instanceof BoundaryError) throw error
      const why = messageOf(error)
      throw new BoundaryError('sandbox', `cannot start a sandbox: ${why}`, { cause: error })
    })
    return new Holder(process, { outer: process.pid, inner: process.pid }, process, earlier)
  }

  private static async launch(program: string, args: readonly string[], cwd: string): Promise<Holder> {
    const child = await spawnProcess(program, args, {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      detached: true,
      env: cleanEnv,
      cwd,
    })
    return Holder.follow(child as Process)
  }

  /** Waits until bubblewrap has reported which process is the first inside, or why there is none. */
  private static async follow(child: Process): Promise<Holder> {
    const gone = once(child, 'exit').catch(() => {})
    const [, , complaints, info] = child.stdio as unknown as [null, null, OutputStream, OutputStream & EventEmitter]
    // The sleeper keeps its stderr open forever: only what is printed before it runs matters.
    const said = collect(complaints, 64 * 1024)
    const report = collect(info, 64 * 1024)
    await once(info, 'end')
    const innerPid = Number(/"child-pid":\s*(\d+)/.exec(report.text())?.[1])
    if (child.pid === undefined || !innerPid) {
      await gone
      const why = said.text().trim() || 'bubblewrap said nothing'
      throw new BoundaryError('sandbox', `cannot start a sandbox: ${why}`, exhaustionCause(said.text()))
    }
    complaints.destroy()
    return new Holder(child, { outer: child.pid, inner: innerPid })
  }

  /** The file systems of its overlays, if known without examining its mounts. */
  get devices(): readonly number[] | null {
    return this.earlier?.devices ?? this.started?.devices ?? null
  }

  /**
   * Kills every other process inside and replaces what they shared; null if that takes another holder, false if this
   * one has ended.
   */
  async renew(): Promise<boolean | null> {
    return this.started?.renew() ?? null
  }

  /** Removes a file at a path as the holder sees it, as root of its users. */
  async removeFile(privileges: Privileges, path: string): Promise<void> {
    const enter = [...enterUser(privileges, this.outerPid), `--mount=/proc/${this.outerPid}/ns/mnt`]
    await execProcess('nsenter', [...enter, 'rm', '-f', '--', path], { env: cleanEnv, cwd: '/' })
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  /** Whether its processes are dead or dying; the kernel kills them before we learn that the first one ended. */
  get ending(): boolean {
    return !this.alive || isEnding(this.innerPid)
  }

  /** Identifies the outer process permanently, so that a later process can safely end it. */
  identity(): ProcessIdentity | null {
    return identify(this.outerPid)
  }

  /** Kills every process of the sandbox and waits until they are gone. */
  async stop(): Promise<void> {
    for (const pid of [this.innerPid, this.outerPid]) {
      if (!this.alive) break
      signalProcess(pid, 'SIGKILL')
    }
    await this.gone
  }
}

/** Arguments that let nsenter enter the user namespace of an ordinary user's sandbox first. */
export function enterUser(privileges: Privileges, pid: number): string[] {
  return privileges.mode === 'user' ? ['--preserve-credentials', `--user=/proc/${pid}/ns/user`] : []
}

function bwrapWords(privileges: Privileges): string {
  const userns = privileges.usernsPid === null ? '' : `--userns 7 7</proc/${privileges.usernsPid}/ns/user`
  return [userns, ...bwrapArgs(privileges).map(shellQuote)].join(' ')
}

function bwrapArgs({ sleeper }: Privileges): string[] {
  return [
    ...hostPrograms,
    ...['--unshare-pid', '--unshare-net', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...['--hostname', 'sandbox', '--dev-bind', '/dev/null', '/dev/null'],
    // A capability that no command has and that is useless here: it keeps commands from tracing process 1.
    ...['--cap-drop', 'ALL', '--cap-add', 'CAP_WAKE_ALARM', '--die-with-parent', '--new-session', '--clearenv'],
    ...['--setenv', 'PATH', '/usr/bin:/bin', '--info-fd', '3', '--as-pid-1', '--', ...sleeper],
  ]
}

/** The host's programs, read-only: all that the sleeping process sees. */
const hostPrograms = ['usr', 'bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'].flatMap(hostProgramDir)

function hostProgramDir(name: string): string[] {
  const stat = lstatSync(`/${name}`, { throwIfNoEntry: false })
  if (stat?.isSymbolicLink()) return ['--symlink', readlinkSync(`/${name}`), `/${name}`]
  return stat?.isDirectory() ? ['--ro-bind', `/${name}`, `/${name}`] : []
}

interface DoorFrame {
  readonly privileges: Privileges
  readonly outerPid: number
  /** A process in the sandbox's network. */
  readonly netPid: number
}

/** Opens a port on the sandbox's own loopback whose connections arrive in this process. */
export function openDoor({ privileges, outerPid, netPid }: DoorFrame, accept: (socket: Duplex) => void): Promise<Door> {
  return openDoorInto({ enter: [...enterUser(privileges, outerPid), `--net=/proc/${netPid}/ns/net`] }, accept)
}
