import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Resource } from './exhaustion.ts'

/** How much of something this process may still use, and what sets the limit. */
export interface MachineLimit {
  readonly resource: Resource
  /** The name people know it by, for example `ulimit -n`. */
  readonly name: string
  readonly limit: number
  readonly free: number
}

/** The limits of this machine that a process can run into, except those that cannot be read. */
export function readMachineLimits(): readonly MachineLimit[] {
  return [openFiles(), ...userProcesses(), ...allProcesses(), ...groupLimits()].filter(
    (each): each is MachineLimit => each !== null && Number.isFinite(each.limit),
  )
}

/** How often a process of our control group could not be made because the group is full; 0 if that is not counted. */
export function refusedForks(): number {
  const dir = groupDirs()[0]
  if (dir === undefined) return 0
  const text = readText(join(dir, 'pids.events.local')) ?? readText(join(dir, 'pids.events')) ?? ''
  return Number(/^max (\d+)$/m.exec(text)?.[1] ?? 0)
}

/**
 * More files than an ordinary program opens, and few enough for a program that closes every possible one before it
 * starts another.
 */
const saneOpenFiles = 65_536

/**
 * A shell line for external programs. Node.js raises its own soft limit of open files to the hard one, which may be a
 * billion, and everything it starts would inherit that.
 */
export function saneOpenFilesLine(): string {
  return (softLimit('Max open files') ?? 0) > saneOpenFiles ? `ulimit -S -n ${saneOpenFiles}` : ':'
}

/** Node.js raises its own soft limit to the hard one when it starts. */
function openFiles(): MachineLimit | null {
  const limit = softLimit('Max open files')
  if (limit === null) return null
  return { resource: 'file descriptors', name: 'ulimit -n', limit, free: limit - readdirSync('/proc/self/fd').length }
}

/** Does not apply to root. */
function userProcesses(): MachineLimit[] {
  const limit = process.getuid?.() === 0 ? null : softLimit('Max processes')
  if (limit === null || !Number.isFinite(limit)) return []
  return [{ resource: 'processes', name: 'ulimit -u', limit, free: limit - threadsOfUser() }]
}

function allProcesses(): MachineLimit[] {
  const taken = Number(/\/(\d+) /.exec(readText('/proc/loadavg') ?? '')?.[1])
  const names = { 'kernel.pid_max': '/proc/sys/kernel/pid_max', 'kernel.threads-max': '/proc/sys/kernel/threads-max' }
  return Object.entries(names).map(([name, path]) => {
    const limit = numberIn(path)
    return { resource: 'processes', name, limit, free: limit - taken }
  })
}

/** The limits of this process's control groups and of those above them. */
function groupLimits(): MachineLimit[] {
  return groupDirs().map((dir) => {
    const limit = numberIn(join(dir, 'pids.max'))
    const free = limit - numberIn(join(dir, 'pids.current'))
    return { resource: 'processes', name: `pids.max of ${dir}`, limit, free }
  })
}

/** The directories of this process's control group and of those above it; empty if they are not visible. */
function groupDirs(): string[] {
  const lines = (readText('/proc/self/cgroup') ?? '').trim().split('\n')
  const own = lines.map((line) => line.split(':')).find(([, names = '']) => names.split(',').includes('pids'))
  const unified = lines.find((line) => line.startsWith('0::'))?.slice(3)
  const path = own?.slice(2).join(':') ?? unified
  const root = own ? mountOf('cgroup', 'pids') : mountOf('cgroup2', null)
  if (path === undefined || root === null) return []
  const dirs: string[] = []
  for (let dir = join(root, path); dir.startsWith(root); dir = join(dir, '..')) {
    if (existsSync(join(dir, 'pids.max'))) dirs.push(dir)
    if (dir === root || dir === `${root}/`) break
  }
  return dirs
}

const mounts = new Map<string, string | null>()

/** The mount list is long when there are many sandboxes, and this is called for every trial. */
function mountOf(type: string, option: string | null): string | null {
  const key = `${type} ${option}`
  const known = mounts.get(key)
  if (known !== undefined) return known
  const found = findMount(type, option)
  mounts.set(key, found)
  return found
}

function findMount(type: string, option: string | null): string | null {
  for (const line of (readText('/proc/self/mounts') ?? '').split('\n')) {
    const [, at = '', kind, options = ''] = line.split(' ')
    if (kind === type && (option === null || options.split(',').includes(option))) return at
  }
  return null
}

/** Infinity if there is no limit. */
function softLimit(name: string): number | null {
  const value = new RegExp(`^${name} +(\\S+)`, 'm').exec(readText('/proc/self/limits') ?? '')?.[1]
  return value === undefined ? null : value === 'unlimited' ? Number.POSITIVE_INFINITY : Number(value)
}

/** The kernel counts threads; a directory has one extra link for each sub-directory. */
function threadsOfUser(): number {
  const uid = process.getuid?.()
  let threads = 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const tasks = statSync(`/proc/${name}/task`, { throwIfNoEntry: false })
    if (tasks !== undefined && tasks.uid === uid) threads += Math.max(1, tasks.nlink - 2)
  }
  return threads
}

/** Infinity for `max`, and for a missing file. */
function numberIn(path: string): number {
  const text = readText(path)?.trim()
  return text === undefined || !/^\d+$/.test(text) ? Number.POSITIVE_INFINITY : Number(text)
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
