import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Hierarchy, type LimitName, readWords, tryRmdir, usableHierarchies, write } from './control-hierarchies.ts'
import { sleep } from './deadline.ts'
import { exhaustedBy, patiently } from './exhaustion.ts'
import { codeOf } from './files.ts'
import { signalProcess } from './spawn-process.ts'

export interface Limits {
  readonly cpus?: number
  readonly memoryMb?: number
  readonly pids?: number
}

/** The control groups that this process may use on this machine, under its own name. */
export class ControlGroups {
  private constructor(
    private readonly hierarchies: readonly Hierarchy[],
    private readonly name: string,
  ) {}

  /** Looks for hierarchies of version 1, 2 or both in which a group can really be made. Never throws. */
  static find(name: string): ControlGroups {
    return new ControlGroups(usableHierarchies(name), name)
  }

  /** Which limits are really enforced for groups made here. */
  get enforces(): Readonly<Record<LimitName, boolean>> {
    const has = (name: LimitName) => this.hierarchies.some((hierarchy) => hierarchy.controllers.includes(name))
    return { cpu: has('cpu'), memory: has('memory'), pids: has('pids') }
  }

  create(id: string, limits: Limits): ControlGroup {
    const group = this.at(id)
    group.create(limits)
    return group
  }

  /** The group with that name, whether or not it exists. */
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

/** A set of processes with limits; sub-groups make it possible to find one command's processes again. */
export class ControlGroup {
  constructor(private readonly dirs: readonly GroupDir[]) {}

  create(limits: Limits): void {
    for (const { version, controllers, dir } of this.dirs) {
      makeGroupDir(dir)
      if (version === 2) for (const name of controllers) write(join(dir, '../cgroup.subtree_control'), `+${name}`)
      for (const [file, value] of settings(version, controllers, limits)) write(join(dir, file), value)
    }
  }

  /** A sub-group without its own limits, in one hierarchy only: enough to find and kill its processes. */
  child(name: string): ProcessGroup | null {
    const home = this.tracking()
    if (!home) return null
    const dir = join(home.dir, name)
    mkdirSync(dir, { recursive: true })
    const others = this.dirs.filter((other) => other !== home).map((other) => join(other.dir, 'cgroup.procs'))
    return new ProcessGroup(dir, [join(dir, 'cgroup.procs'), ...others])
  }

  /** Its processes, including those of sub-groups. */
  pids(): number[] {
    const dir = this.tracking()?.dir
    return dir === undefined ? [] : [dir, ...subgroups(dir).map((name) => join(dir, name))].flatMap(members)
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
   * Whether one of its processes was killed because memory ran out above it or on the whole machine. Never true when
   * the group ran into its own limit, which may then be the reason.
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

/** The processes of one command, wherever they have moved since. */
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

  /** Whether no process of the command is left, not even in the background, so that the group may serve another one. */
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

/** A number in a file of lines `name number`; 0 if the name is missing. */
function counterIn(path: string, name: string): number {
  const words = readWords(path)
  return Number(words[words.indexOf(name) + 1] ?? 0) || 0
}

function killAndRemove(dir: string): boolean {
  if (tryRmdir(dir)) return true
  for (const name of subgroups(dir)) killAndRemove(join(dir, name))
  killMembers(dir)
  return tryRmdir(dir)
}

function killMembers(dir: string): number {
  const pids = members(dir)
  for (const pid of pids) signalProcess(pid, 'SIGKILL')
  return pids.length
}

/**
 * Throws if they cannot be listed for lack of a descriptor: a group that cannot be examined is not known to be empty.
 */
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
