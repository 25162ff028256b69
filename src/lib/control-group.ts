import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from './deadline.ts'
import { exhaustedBy, patiently } from './exhaustion.ts'
import { codeOf } from './files.ts'

export interface Limits {
  readonly cpus?: number
  readonly memoryMb?: number
  readonly pids?: number
}

export type LimitName = 'cpu' | 'memory' | 'pids'

/** One hierarchy we may make groups in. Version 1 hosts have one per controller, version 2 hosts a single one. */
interface Hierarchy {
  readonly version: 1 | 2
  readonly root: string
  readonly controllers: readonly LimitName[]
}

/** The control groups of this machine that this process may use, under one name of its own. */
export class ControlGroups {
  private constructor(
    private readonly hierarchies: readonly Hierarchy[],
    private readonly name: string,
  ) {}

  /** Looks for hierarchies of version 1, 2 or both in which a group can really be made. Never throws. */
  static find(name: string): ControlGroups {
    const mounts = readMounts()
    const usable = [...mounts.v1, ...mounts.v2].filter((hierarchy) => prepare(hierarchy, name))
    return new ControlGroups(usable, name)
  }

  /** Which limits groups made here will really enforce. */
  get enforces(): Readonly<Record<LimitName, boolean>> {
    const has = (name: LimitName) => this.hierarchies.some((hierarchy) => hierarchy.controllers.includes(name))
    return { cpu: has('cpu'), memory: has('memory'), pids: has('pids') }
  }

  create(id: string, limits: Limits): ControlGroup {
    const group = this.at(id)
    group.create(limits)
    return group
  }

  /** The group of that name, whether or not it exists. */
  at(id: string): ControlGroup {
    return new ControlGroup(
      this.hierarchies.map(({ version, root, controllers }) => ({
        version,
        controllers,
        dir: join(root, this.name, id),
      })),
    )
  }

  list(): string[] {
    const names = this.hierarchies.flatMap(({ root }) => subgroups(join(root, this.name)))
    return [...new Set(names)]
  }

  /** Removes the common parent once it is empty. */
  removeParent(): void {
    for (const { root } of this.hierarchies) tryRmdir(join(root, this.name))
  }
}

interface GroupDir {
  readonly version: 1 | 2
  readonly controllers: readonly LimitName[]
  readonly dir: string
}

/** A set of processes with limits; sub-groups let one command's processes be found again. */
export class ControlGroup {
  constructor(private readonly dirs: readonly GroupDir[]) {}

  create(limits: Limits): void {
    for (const { version, controllers, dir } of this.dirs) {
      makeGroupDir(dir)
      if (version === 2) for (const name of controllers) write(join(dir, '../cgroup.subtree_control'), `+${name}`)
      for (const [file, value] of settings(version, controllers, limits)) write(join(dir, file), value)
    }
  }

  /** A sub-group without limits of its own, in one hierarchy only: enough to find and kill its processes. */
  child(name: string): ProcessGroup | null {
    const home = this.tracking()
    if (!home) return null
    const dir = join(home.dir, name)
    mkdirSync(dir, { recursive: true })
    const others = this.dirs.filter((other) => other !== home).map((other) => join(other.dir, 'cgroup.procs'))
    return new ProcessGroup(dir, [join(dir, 'cgroup.procs'), ...others])
  }

  /** Kills what is left inside and removes the group; true when nothing is left of it. */
  async remove(): Promise<boolean> {
    for (let attempt = 0; attempt < 100; attempt++) {
      if (await patiently(async () => this.dirs.every(({ dir }) => killAndRemove(dir)))) return true
      await sleep(Math.min(5 + attempt * 2, 50))
    }
    return false
  }

  /**
   * Whether a process of it was killed because memory ran out above it or on the whole machine. Never when the group ran
   * into its own limit: then that may be why.
   */
  lostToOthers(): boolean {
    return this.dirs.some(({ version, controllers, dir }) => {
      if (!controllers.includes('memory')) return false
      const file = join(dir, version === 1 ? 'memory.oom_control' : 'memory.events')
      if (counterIn(file, 'oom_kill') === 0) return false
      return version === 1 ? readWords(join(dir, 'memory.failcnt'))[0] === '0' : counterIn(file, 'oom') === 0
    })
  }

  private tracking(): GroupDir | undefined {
    return (
      this.dirs.find(({ version }) => version === 2) ??
      this.dirs.find(({ controllers }) => controllers.includes('pids')) ??
      this.dirs[0]
    )
  }
}

/** The processes of one command, wherever they have gone since. */
export class ProcessGroup {
  constructor(
    private readonly dir: string,
    /** A process joins by writing 0 into each of these. */
    readonly joinFiles: readonly string[],
  ) {}

  async kill(): Promise<void> {
    for (let attempt = 0; attempt < 200; attempt++) {
      if ((await patiently(async () => killMembers(this.dir))) === 0) return
      await sleep(Math.min(1 + attempt, 20))
    }
  }

  /** No process of the command is left, not even in the background: the group may serve another one. */
  isEmpty(): boolean {
    try {
      return members(this.dir).length === 0
    } catch {
      return false
    }
  }
}

function settings(version: 1 | 2, controllers: readonly LimitName[], limits: Limits): [file: string, value: string][] {
  const periodUs = 100_000
  const rows: [LimitName, number | undefined, string, (n: number) => string][] =
    version === 1
      ? [
          ['cpu', limits.cpus, 'cpu.cfs_quota_us', (n) => String(Math.round(n * periodUs))],
          ['memory', limits.memoryMb, 'memory.limit_in_bytes', (n) => String(Math.round(n * 2 ** 20))],
          ['pids', limits.pids, 'pids.max', String],
        ]
      : [
          ['cpu', limits.cpus, 'cpu.max', (n) => `${Math.round(n * periodUs)} ${periodUs}`],
          ['memory', limits.memoryMb, 'memory.max', (n) => String(Math.round(n * 2 ** 20))],
          ['pids', limits.pids, 'pids.max', String],
        ]
  return rows.flatMap(([name, value, file, show]) =>
    value !== undefined && controllers.includes(name) ? [[file, show(value)] as [string, string]] : [],
  )
}

function readMounts(): { v1: Hierarchy[]; v2: Hierarchy[] } {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  const own = readOwnGroups()
  const v1: Hierarchy[] = []
  const v2: Hierarchy[] = []
  for (const line of lines) {
    const [before = '', after = ''] = line.split(' - ')
    const mountPoint = before.split(' ')[4] ?? ''
    const [type, , options = ''] = after.split(' ')
    if (type === 'cgroup') {
      const controllers = limitNames(options.split(','))
      if (controllers.length > 0) v1.push({ version: 1, root: mountPoint, controllers })
    } else if (type === 'cgroup2') {
      v2.push(
        { version: 2, root: mountPoint, controllers: [] },
        { version: 2, root: join(mountPoint, own, '..'), controllers: [] },
      )
    }
  }
  return { v1, v2: firstUsableV2(v2) }
}

/** A version 2 hierarchy counts when a controller can be switched on for our groups: at its root, or beside our own group where that was delegated to us. */
function firstUsableV2(candidates: readonly Hierarchy[]): Hierarchy[] {
  for (const { root } of candidates) {
    const available = limitNames(readWords(join(root, 'cgroup.controllers')))
    for (const name of available) write(join(root, 'cgroup.subtree_control'), `+${name}`)
    const controllers = limitNames(readWords(join(root, 'cgroup.subtree_control')))
    if (controllers.length > 0) return [{ version: 2, root, controllers }]
  }
  return []
}

function readOwnGroups(): string {
  const line = readFileSync('/proc/self/cgroup', 'utf8')
    .split('\n')
    .find((text) => text.startsWith('0::'))
  return line?.slice(3) ?? '/'
}

/** Makes our common parent; false when this process may not, or may not move processes into it. */
function prepare({ version, root, controllers }: Hierarchy, name: string): boolean {
  const dir = join(root, name)
  const probe = join(dir, `probe-${randomBytes(4).toString('hex')}`)
  try {
    mkdirSync(probe, { recursive: true })
    if (version === 2)
      for (const controller of controllers) writeFileSync(join(dir, 'cgroup.subtree_control'), `+${controller}`)
    return readdirSync(probe).includes('cgroup.procs') && canWrite(join(probe, 'cgroup.procs'))
  } catch {
    return false
  } finally {
    tryRmdir(probe)
  }
}

/** Writing an impossible pid tells ESRCH where a move would be allowed. */
function canWrite(procs: string): boolean {
  try {
    writeFileSync(procs, '4194304')
    return true
  } catch (error) {
    return codeOf(error) === 'ESRCH'
  }
}

function limitNames(words: readonly string[]): LimitName[] {
  return (['cpu', 'memory', 'pids'] as const).filter((name) => words.includes(name))
}

/** A number in a file of lines `name number`; 0 where there is none. */
function counterIn(path: string, name: string): number {
  const words = readWords(path)
  return Number(words[words.indexOf(name) + 1] ?? 0) || 0
}

function readWords(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').trim().split(/\s+/)
  } catch (error) {
    if (exhaustedBy(error) !== null) throw error
    return []
  }
}

function write(path: string, value: string): void {
  try {
    writeFileSync(path, value)
  } catch {
    // A limit the kernel refuses shows up as not enforced; it must not stop a sandbox.
  }
}

function killAndRemove(dir: string): boolean {
  for (const name of subgroups(dir)) killAndRemove(join(dir, name))
  killMembers(dir)
  return tryRmdir(dir)
}

function killMembers(dir: string): number {
  const pids = members(dir)
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It is gone already.
    }
  }
  return pids.length
}

/** Throws when they cannot be listed for want of a descriptor: a group that cannot be looked at is not known to be empty. */
function members(dir: string): number[] {
  const words = readWords(join(dir, 'cgroup.procs')).filter((word) => /^\d+$/.test(word) && word !== '0')
  return words.map(Number)
}

function subgroups(dir: string): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  } catch (error) {
    if (exhaustedBy(error) !== null) throw error
    return []
  }
}

/** Another process may remove the empty parent just before we use it. */
function makeGroupDir(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true })
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    mkdirSync(dir, { recursive: true })
  }
}

function tryRmdir(dir: string): boolean {
  try {
    rmdirSync(dir)
    return true
  } catch (error) {
    return codeOf(error) === 'ENOENT'
  }
}
