import { spawnSync } from 'node:child_process'
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { homedir, hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { codeOf, exhaustedBy } from './exhaustion.ts'

/** Identifies one process permanently: a pid alone is reused, and means something only within its PID namespace. */
export interface ProcessIdentity {
  readonly pid: number
  /** Start time in clock ticks since boot. */
  readonly startTicks: string
  readonly bootId: string
  readonly host: string
  /** The PID namespace of `pid`; earlier versions did not write it. */
  readonly pidNs?: string | undefined
}

/** An identity as stored in files. */
export const identitySchema = z.object({
  pid: z.number(),
  startTicks: z.string(),
  bootId: z.string(),
  host: z.string(),
  pidNs: z.string().optional(),
})

export type Liveness = 'alive' | 'dead' | 'unknown'

/** The identity of a running process in this PID namespace, or null when it is gone. */
export function identify(pid: number): ProcessIdentity | null {
  const startTicks = readStartTicks(pid)
  return startTicks === null ? null : { pid, startTicks, bootId: bootId(), host: hostname(), pidNs: pidNs() }
}

let own: ProcessIdentity | undefined

/** The identity of this process. */
export function ourselves(): ProcessIdentity {
  const identity = own ?? identify(process.pid)
  if (!identity) throw new Error('this process cannot find itself in /proc')
  own = identity
  return identity
}

/**
 * The identity of this process, which from now on shows other PID namespaces that share the state directory that it is
 * alive.
 */
export function markedOurselves(ownersDir = defaultOwnersDir()): ProcessIdentity & { readonly pidNs: string } {
  const identity = { ...ourselves(), pidNs: pidNs() }
  holdMark(ownersDir, markName(identity))
  return identity
}

export interface LivenessOptions {
  /** Where owners keep their marks; default: this user's state directory. */
  readonly ownersDir?: string
  /**
   * The identity was stored next to these very marks, so a missing mark means that it was removed when its owner ended.
   */
  readonly sameState?: boolean
}

/**
 * A machine that has not renewed its mark for this long, and has been rebooted since, is not running the old process.
 */
const silenceMs = 10 * 60 * 1000

/**
 * Whether this very process is still running. In this PID namespace /proc tells; in another one on this machine, only
 * the mark that the owner holds; a process of another machine is `unknown`.
 */
export function livenessOf(identity: ProcessIdentity, options: LivenessOptions = {}): Liveness {
  const { ownersDir = defaultOwnersDir(), sameState = false } = options
  const mark = markName(identity)
  if (identity.bootId !== bootId()) {
    if (identity.host !== hostname()) return 'unknown'
    const seenMs = mark === null ? null : lastSignOf(ownersDir, mark)
    return seenMs !== null && Date.now() - seenMs < silenceMs ? 'unknown' : 'dead'
  }
  if (isOurNamespace(identity)) return readStartTicks(identity.pid) === identity.startTicks ? 'alive' : 'dead'
  const state = mark === null ? 'unknown' : markState(ownersDir, mark)
  if (state === 'missing') return sameState ? 'dead' : 'unknown'
  return state
}

/** Whether a process started here is still running. */
export function isRunningHere(identity: ProcessIdentity): boolean {
  return (
    identity.bootId === bootId() && isOurNamespace(identity) && readStartTicks(identity.pid) === identity.startTicks
  )
}

/** Whether a process of this PID namespace is gone or about to be: what dies with it may be dead before it. */
export function isEnding(pid: number): boolean {
  const [state, flags, signals] = readStat(pid, [3, 9, 31])
  const exiting = 0x4
  // On a busy machine a killed process may have to wait for its turn to die.
  const killed = 0x100
  if (state === undefined || state === 'Z' || state === 'X') return true
  return (Number(flags) & exiting) !== 0 || (Number(signals) & killed) !== 0
}

/**
 * The name of a process's mark, unique among all processes of all machines. Identities of earlier versions have none.
 */
export function markName<T extends ProcessIdentity>(identity: T): T extends { pidNs: string } ? string : string | null
export function markName({ pid, startTicks, bootId, pidNs }: ProcessIdentity): string | null {
  return pidNs === undefined ? null : `${pid}-${startTicks}-${pidNs}-${bootId.slice(0, 8)}`
}

/**
 * The process behind a mark's name, as far as the name tells; its machine is known only if it is this one since its
 * last boot.
 */
export function parseMarkName(name: string): ProcessIdentity | null {
  const [, pid, startTicks = '', pidNs = '', boot = ''] = /^(\d+)-(\d+)-(\d+)-([0-9a-f]{8})$/.exec(name) ?? []
  if (pid === undefined) return null
  const here = boot === bootId().slice(0, 8)
  return { pid: Number(pid), startTicks, pidNs, bootId: here ? bootId() : boot, host: here ? hostname() : '' }
}

/** Where the owners of a state directory keep their marks. */
export function ownersDirOf(stateDir: string): string {
  return join(stateDir, 'owners')
}

/** Where caches and leases live: `$XDG_CACHE_HOME/ot-agent`. */
export function defaultStateDir(env: Readonly<Record<string, string | undefined>> = process.env): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'ot-agent')
}

function defaultOwnersDir(): string {
  return ownersDirOf(defaultStateDir())
}

/**
 * An identity without a namespace is from an earlier version: a different host name with the same boot is a container.
 */
function isOurNamespace({ pidNs: theirs, host }: ProcessIdentity): boolean {
  return theirs === undefined ? host === hostname() : theirs === pidNs() && seesOurNamespace()
}

/** Whether /proc shows our own PID namespace: if it was entered without remounting /proc, that shows its parent's. */
function seesOurNamespace(): boolean {
  return readlinkSync('/proc/self') === String(process.pid)
}

let cachedBootId: string | undefined
function bootId(): string {
  cachedBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return cachedBootId
}

let cachedPidNs: string | undefined
function pidNs(): string {
  cachedPidNs ??= /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0'
  return cachedPidNs
}

/** The start time of a process; a zombie counts as gone. */
function readStartTicks(pid: number): string | null {
  const [state, startTicks] = readStat(pid, [3, 22])
  return state === 'Z' || state === 'X' ? null : (startTicks ?? null)
}

/** Fields of /proc/PID/stat, numbered as in proc(5); the name before them may contain spaces and brackets. */
function readStat(pid: number, numbers: readonly number[]): readonly (string | undefined)[] {
  try {
    const file = pid === process.pid ? '/proc/self/stat' : `/proc/${pid}/stat`
    const fields = readFileSync(file, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return numbers.map((number) => fields[number - 3])
  } catch (error) {
    // A process that cannot be examined for lack of a descriptor is not known to be gone.
    if (exhaustedBy(error) !== null) throw error
    return []
  }
}

const heartbeatMs = 15_000
const held = new Set<string>()

/**
 * Holds a mark that tells every process on this machine, in any PID namespace, that this one is alive: a named pipe
 * that it keeps open for reading. The kernel closes it when the process ends, in whatever way. Once per process and
 * directory. Where no mark can be made, others treat this process's state as unknown and leave its things alone.
 */
export function holdMark(ownersDir: string, name: string): void {
  const path = join(ownersDir, name)
  if (held.has(path)) return
  if (held.size === 0) setInterval(beat, heartbeatMs).unref()
  held.add(path)
  // Under a temporary name until it is open, because a pipe without a reader means a dead owner.
  const draft = join(ownersDir, `.${name}.tmp`)
  try {
    mkdirSync(ownersDir, { recursive: true, mode: 0o700 })
    if (spawnSync('mkfifo', ['-m', '600', draft], { stdio: 'ignore' }).status !== 0) return
    openSync(draft, constants.O_RDONLY | constants.O_NONBLOCK)
    renameSync(draft, path)
  } catch {
    rmSync(draft, { force: true })
    return
  }
  process.once('exit', () => rmSync(path, { force: true }))
}

/** What a mark says about its owner, provided that the owner is a process on this machine. */
export function markState(ownersDir: string, name: string): 'alive' | 'dead' | 'missing' | 'unknown' {
  try {
    closeSync(openSync(join(ownersDir, name), constants.O_WRONLY | constants.O_NONBLOCK))
    return 'alive'
  } catch (error) {
    const code = codeOf(error)
    return code === 'ENXIO' ? 'dead' : code === 'ENOENT' ? 'missing' : 'unknown'
  }
}

/** When a mark was last renewed, in milliseconds since 1970; null when it does not exist. */
export function lastSignOf(ownersDir: string, name: string): number | null {
  return statSync(join(ownersDir, name), { throwIfNoEntry: false })?.mtimeMs ?? null
}

/** The names of all marks in a directory, including those that are being made. */
export function listMarks(ownersDir: string): string[] {
  try {
    return readdirSync(ownersDir)
  } catch {
    return []
  }
}

export function removeMark(ownersDir: string, name: string): void {
  rmSync(join(ownersDir, name), { force: true })
}

/** Renews the marks, for machines that share the directory but not the kernel. */
function beat(): void {
  const now = new Date()
  for (const path of held) {
    try {
      utimesSync(path, now, now)
    } catch {
      // The mark could not be made.
    }
  }
}
