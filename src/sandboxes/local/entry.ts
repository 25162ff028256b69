import type { ChildProcess } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import type { Terminal, TerminalOptions } from '../../core/sandbox.ts'
import { saneOpenFilesLine } from '../../lib/machine-limits.ts'
import { shellQuote } from '../../lib/shell.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'
import { cleanEnv, closeInherited, shell } from '../namespaces/as-root-inside.ts'
import type { KernelFile } from '../namespaces/kernel-files.ts'
import type { KillableGroup } from '../namespaces/killable.ts'
import { openPty, openPtyOf } from '../namespaces/pty.ts'
import { seccompFilter } from '../namespaces/seccomp.ts'
import { enterUser } from './holder.ts'
import { enterOwnIds, type OwnIds } from './own-ids.ts'
import type { Privileges } from './privileges.ts'
import { type StartedProcess, startProcess } from './starter.ts'
import { mostText, NoTerminalError } from './starter-request.ts'

/** A program of the host that becomes a command inside. */
export interface Entry {
  readonly program: string
  readonly args: readonly string[]
}

export interface EntryRequest {
  readonly merged: string
  /** What is covered in /proc. */
  readonly kernelFiles: readonly KernelFile[]
  readonly mounts: readonly (readonly [target: string, source: string])[]
  /** The same, but programs inside cannot change them. */
  readonly readOnly: readonly (readonly [target: string, source: string])[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly newSession: boolean
  readonly userns: boolean
}

/** What root in a container engine may usually do, by number; nothing that reaches outside. */
const capabilities = {
  CHOWN: 0,
  DAC_OVERRIDE: 1,
  FOWNER: 3,
  FSETID: 4,
  KILL: 5,
  SETGID: 6,
  SETUID: 7,
  SETPCAP: 8,
  NET_BIND_SERVICE: 10,
  SYS_CHROOT: 18,
  SETFCAP: 31,
  AUDIT_WRITE: 29,
}

/** Where root may write and root's sandboxes run as root, bubblewrap itself covers these when it mounts /proc. */
const coveredAlready = new Set(['/proc/bus', '/proc/irq', '/proc/sysrq-trigger'])

/** Keeps programs inside from writing to a kernel file: root inside is the same user as root outside, and owns it. */
function coverWords({ path, isDirectory, isHidden }: KernelFile): string[] {
  if (!isHidden) return ['--ro-bind', path, path]
  return isDirectory ? ['--size', '4096', '--perms', '0555', '--tmpfs', path] : ['--ro-bind', '/dev/null', path]
}

/**
 * Arguments of bubblewrap for one command. They are passed in a file or a pipe, so no value shows in a process list.
 */
export function commandArgs(request: EntryRequest): string[] {
  const words = [
    // The last two close what the others left open: a namespace cannot be read, and a descriptor that is read from or
    // kept gets closed.
    ...(request.userns ? ['--userns', '7', '--block-fd', '7'] : []),
    ...['--pidns', '8', '--sync-fd', '8', '--seccomp', '6'],
    ...['--bind', request.merged, '/', '--proc', '/proc', '--dev', '/dev'],
    ...request.kernelFiles.filter(({ path }) => !(request.userns && coveredAlready.has(path))).flatMap(coverWords),
    ...request.mounts.flatMap(([target, source]) => ['--bind', source, target]),
    ...request.readOnly.flatMap(([target, source]) => ['--ro-bind', source, target]),
    ...['--cap-drop', 'ALL', ...Object.keys(capabilities).flatMap((name) => ['--cap-add', `CAP_${name}`])],
    // No --die-with-parent: with --pidns the parent that it would watch exits at once. The command dies with the
    // holder.
    ...(request.newSession ? ['--new-session'] : []),
    '--clearenv',
    ...Object.entries(request.env).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--chdir', request.cwd],
  ]
  // A variable or directory that a task names must not be able to inject an argument.
  if (words.some((word) => word.includes('\0'))) {
    throw new BoundaryError('task', 'a variable or a directory holds a NUL character', { retryable: false })
  }
  return words
}

/** Arguments too long for the starter's pipe go through a file. */
export function keepArgs(words: readonly string[], dir: string, byStarter: boolean): readonly string[] | string {
  const args = words.map((word) => `${word}\0`).join('')
  if (byStarter && Buffer.byteLength(args) <= mostText) return words
  const file = join(dir, `command-${randomBytes(6).toString('hex')}.args`)
  writeFileSync(file, args, { mode: 0o600 })
  return file
}

/** The same for the starter, which starts a command inside by itself. */
function insidePlan({ kernelFiles, mounts, readOnly }: EntryRequest): string[] {
  return [
    ...kernelFiles.flatMap(({ path, isDirectory, isHidden }) => {
      if (!isHidden) return ['ro', path, path]
      return isDirectory ? ['hide', path, ''] : ['ro', path, '/dev/null']
    }),
    ...mounts.flatMap(([target, source]) => ['rw', target, source]),
    ...readOnly.flatMap(([target, source]) => ['ro', target, source]),
  ]
}

export interface EnterOptions {
  readonly privileges: Privileges
  readonly outerPid: number
  readonly innerPid: number
  /** A process in the command's network. */
  readonly netPid: number
  /** The arguments of bubblewrap, in a file or directly; empty if the starter starts a command inside by itself. */
  readonly args: string | readonly string[]
  /** A filter of system calls, in the kernel's format. */
  readonly seccompFile: string
  readonly joinFiles: readonly string[]
  /** Whether bubblewrap reports on descriptor 3 how the command ended. */
  readonly report: boolean
}

/** The namespaces of a command besides its user namespace, with nsenter's names for them. */
function namespacesOf({ outerPid, innerPid, netPid }: EnterOptions): [name: string, file: string][] {
  return [
    ['mount', `/proc/${outerPid}/ns/mnt`],
    ['ipc', `/proc/${innerPid}/ns/ipc`],
    ['uts', `/proc/${innerPid}/ns/uts`],
    ['net', `/proc/${netPid}/ns/net`],
  ]
}

/** The files that bubblewrap reads from, as `commandArgs` refers to them. */
function filesOf({ privileges, innerPid, args, seccompFile }: EnterOptions): [number: number, path: string][] {
  return [
    [8, `/proc/${innerPid}/ns/pid`],
    ...(privileges.usernsPid === null ? [] : [[7, `/proc/${privileges.usernsPid}/ns/user`] as [number, string]]),
    ...(typeof args === 'string' ? [[9, args] as [number, string]] : []),
    [6, seccompFile],
  ]
}

function bwrapWords({ report }: EnterOptions): string[] {
  return ['bwrap', ...(report ? ['--json-status-fd', '3'] : []), '--args', '9', '--']
}

/** The same as `enterScript`, for the starter: three programs fewer on the way in. */
function enterRequest(ids: OwnIds, { enter: options, argv, group }: Prepared) {
  return {
    ids,
    env: group.env ?? {},
    joinFiles: options.joinFiles,
    namespaces: namespacesOf(options).map(([, file]) => file),
    files: filesOf(options),
    text: typeof options.args === 'string' ? undefined : ([9, options.args] as const),
    argv: [...bwrapWords(options), ...argv],
  }
}

const openFiles = saneOpenFilesLine()

/** A script that joins the control groups and namespaces and becomes bubblewrap, which becomes the command given as its arguments. */
function enterScript(options: EnterOptions): string {
  const { privileges, outerPid } = options
  const joining = options.joinFiles.map((file) => `echo 0 > ${shellQuote(file)} || exit 126`)
  const namespaces = [
    ...(privileges.ownIds ? enterOwnIds(privileges.ownIds) : enterUser(privileges, outerPid)),
    ...namespacesOf(options).map(([name, file]) => `--${name}=${file}`),
  ]
  const descriptors = filesOf(options).map(([number, path]) => `${number}<${shellQuote(path)}`)
  return [
    'umask 022',
    openFiles,
    ...closeInherited,
    ...joining,
    `exec nsenter ${namespaces.join(' ')} ${bwrapWords(options).join(' ')} "$@" ${descriptors.join(' ')}`,
  ].join('\n')
}

/** A command that is ready to start. */
export interface Prepared {
  readonly enter: EnterOptions
  /** How the starter starts it inside by itself; null: bubblewrap does that. */
  readonly inside: EntryRequest | null
  readonly argv: readonly string[]
  readonly group: KillableGroup
}

/** How it starts without the starter. */
function entryOf({ enter, argv }: Prepared): Entry {
  return { program: shell, args: ['-c', enterScript(enter), 'sh', ...argv] }
}

const filterFiles = new Map<string, string>()

/** The filter of system calls, in one file for all sandboxes, where only we may write. */
export function seccompFileIn(home: string): string {
  const known = filterFiles.get(home)
  if (known !== undefined && existsSync(known)) return known
  const filter = seccompFilter()
  const path = join(home, `seccomp-${createHash('sha256').update(filter).digest('hex').slice(0, 12)}`)
  const draft = `${path}.${randomBytes(4).toString('hex')}`
  writeFileSync(draft, filter)
  renameSync(draft, path)
  filterFiles.set(home, path)
  return path
}

/** Starts it through the starter. */
export function startEntry(ids: OwnIds, command: Prepared, limitBytes: number): Promise<StartedProcess> {
  return startProcess({ ...startRequest(ids, command), streams: [1, 2, 3], limitBytes })
}

function startRequest(ids: OwnIds, command: Prepared) {
  const { enter, inside, argv } = command
  if (inside === null) return enterRequest(ids, command)
  const { seccompFile, joinFiles, innerPid } = enter
  return {
    ids,
    env: inside.env,
    joinFiles,
    namespaces: namespacesOf(enter).map(([, file]) => file),
    inside: {
      pidns: `/proc/${innerPid}/ns/pid`,
      seccompFile,
      capabilities: Object.values(capabilities).reduce((sum, number) => sum + 2 ** number, 0),
      cwd: inside.cwd,
      merged: inside.merged,
      plan: insidePlan(inside),
    },
    argv,
  }
}

/**
 * Opens a terminal through the starter, or from this process if there is no starter or it may not take a terminal over.
 */
export async function openTerminalBy(
  hasStarter: boolean,
  open: (byStarter: boolean) => Promise<Terminal>,
): Promise<Terminal> {
  try {
    return await open(hasStarter)
  } catch (error) {
    if (error instanceof NoTerminalError) return open(false)
    throw error
  }
}

interface OnTerminal {
  readonly command: Prepared
  readonly ids: OwnIds | null
  readonly byStarter: boolean
}

/** Starts it on a terminal: through the starter, which throws a NoTerminalError if it cannot, or from this process. */
export function openOnTerminal(
  { command, ids, byStarter }: OnTerminal,
  options: TerminalOptions,
  cleanUp: () => Promise<void>,
): Promise<Terminal> {
  if (!byStarter || ids === null) {
    const start = { ...entryOf(command), env: { ...cleanEnv, ...command.group.env } }
    return openPty(start, { ...options, owner: ids?.first }, cleanUp)
  }
  const { cols = 160, rows = 40 } = options
  const request = { ...startRequest(ids, command), streams: [], limitBytes: 0 }
  return openPtyOf((fd) => startProcess({ ...request, terminal: { fd, cols, rows } }), cleanUp)
}

/** Starts it from this process. */
export function spawnEntry(command: Prepared, stdin: 'ignore' | 'pipe'): Promise<ChildProcess> {
  const { program, args } = entryOf(command)
  return spawnProcess(program, args, {
    // Under its own name bash mistakes a socket on stdin for a remote login and reads the host's ~/.bashrc first.
    argv0: 'sh',
    stdio: [stdin, 'pipe', 'pipe', 'pipe'],
    detached: true,
    env: { ...cleanEnv, ...command.group.env },
    cwd: '/',
  })
}
