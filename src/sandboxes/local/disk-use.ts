import { once } from 'node:events'
import { lstatSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { spawnProcess } from '../../lib/spawn-process.ts'
import { cleanEnv } from '../namespaces/as-root-inside.ts'
import type { Holder } from './holder.ts'
import type { Privileges } from './privileges.ts'

/**
 * At most this many entries are measured in this process; a larger tree is left to `du`, which does not block other
 * trials.
 */
const quickEntries = 300

/** The least that a file counts for on average: empty files take no blocks, but they use up inodes. */
const leastBytes = 4096

/**
 * How much disk space a tree takes, by blocks and not by length: a hole in a file takes none. What cannot be examined
 * counts as 0. Null if it could not be measured.
 */
async function diskUseOf(dir: string, privileges: Privileges): Promise<number | null> {
  const quick = quickLook(dir)
  if (quick !== null) return quick
  return oneAtATime(async () => {
    const bytes = await du(dir, ['-B1'], privileges)
    const files = await du(dir, ['--inodes'], privileges)
    return bytes === null ? null : Math.max(bytes, (files ?? 0) * leastBytes)
  })
}

export interface MeteredDisk {
  readonly dir: string
  readonly privileges: Privileges
  /** The processes inside, as far as they can be listed. */
  readonly pids: () => readonly number[]
  /** Has the sandbox's mounts; a different one after a restart. */
  readonly holder: () => Pick<Holder, 'outerPid' | 'devices'>
}

/** Measures a sandbox's disk space, including files that no longer have a name. */
export function makeDiskMeter({ dir, privileges, pids, holder }: MeteredDisk): () => Promise<number | null> {
  let devices: { readonly pid: number; readonly numbers: ReadonlySet<number> } | undefined
  return async () => {
    const { outerPid: pid, devices: overlays } = holder()
    if (devices?.pid !== pid)
      devices = { pid, numbers: new Set([statSync(dir).dev, ...(overlays ?? overlaysSeenBy(pid))]) }
    const open = await removedButOpen(pids(), devices.numbers)
    const named = await diskUseOf(dir, privileges)
    return named === null ? null : named + open
  }
}

/** Null: too large for a quick look, or closed to this process. */
function quickLook(top: string): number | null {
  const seen = new Inodes()
  const waiting = [top]
  let entries = 0
  try {
    for (let dir = waiting.pop(); dir !== undefined; dir = waiting.pop()) {
      seen.add(lstatSync(dir))
      const found = readdirSync(dir, { withFileTypes: true, encoding: 'buffer' })
      entries += found.length
      if (entries > quickEntries) return null
      for (const { name } of found) {
        const path = join(dir, name.toString('utf8'))
        const stats = lstatSync(path)
        if (stats.isDirectory()) waiting.push(path)
        else seen.add(stats)
      }
    }
    return seen.bytes
  } catch {
    // Something vanished, is closed to us, lies too deep, or has a name that is not UTF-8.
    return null
  }
}

/** Adds up file sizes; a file with several names, or opened several times, counts once. */
class Inodes {
  private readonly known = new Set<string>()
  bytes = 0

  add(stats: Stats): void {
    const name = `${stats.dev}-${stats.ino}`
    if (this.known.has(name)) return
    this.known.add(name)
    this.bytes += stats.blocks * 512
  }
}

async function du(dir: string, how: readonly string[], { mode, unshare }: Privileges): Promise<number | null> {
  const words = ['nice', '-n', '19', 'du', '-s', ...how, '--', dir]
  // An ordinary user's sandbox holds files of its subordinate users, which only its own root may look at.
  const [program = '', ...args] = mode === 'user' ? ['unshare', ...unshare, ...words] : words
  const child = await spawnProcess(program, args, { stdio: ['ignore', 'pipe', 'ignore'], env: cleanEnv, cwd: '/' })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  await once(child, 'close')
  const count = /^(\d+)\t/.exec(text)?.[1]
  return count === undefined ? null : Number(count)
}

let last: Promise<unknown> = Promise.resolve()

/** However many large trees there are, measuring them uses at most one processor. */
function oneAtATime<T>(work: () => Promise<T>): Promise<T> {
  const mine = last.then(work)
  last = mine.catch(() => {})
  return mine
}

/** At most this many open files are examined. */
const openLimit = 20_000
/** Blocking calls cost a fraction of others; after this many, everything else gets its turn. */
const looksAtOnce = 64

/**
 * How much disk space is taken by files that no longer have a name and are held open by these processes: no walk finds
 * them. `devices` are the file systems that count; files in memory are limited by other means.
 */
async function removedButOpen(pids: readonly number[], devices: ReadonlySet<number>): Promise<number> {
  const seen = new Inodes()
  let looked = 0
  for (const pid of pids)
    for (const fd of namesIn(`/proc/${pid}/fd`)) {
      if (++looked > openLimit) return seen.bytes
      if (looked % looksAtOnce === 0) await setImmediate()
      const stats = ifThere(() => statSync(`/proc/${pid}/fd/${fd}`))
      if (stats?.isFile() && stats.nlink === 0 && devices.has(stats.dev)) seen.add(stats)
    }
  return seen.bytes
}

/** The overlays mounted in a process's mount namespace. */
function overlaysSeenBy(pid: number): number[] {
  const lines = ifThere(() => readFileSync(`/proc/${pid}/mountinfo`, 'utf8'))?.split('\n') ?? []
  return lines.flatMap((line) => {
    const [, major, minor] = /^\d+ \d+ (\d+):(\d+) .* - overlay /.exec(line) ?? []
    return major === undefined ? [] : [deviceNumber(Number(major), Number(minor))]
  })
}

/** In the format of `stat`. */
function deviceNumber(major: number, minor: number): number {
  return (minor & 0xff) + (major & 0xfff) * 0x100 + (minor - (minor & 0xff)) * 0x1000
}

function namesIn(dir: string): string[] {
  return ifThere(() => readdirSync(dir)) ?? []
}

function ifThere<T>(look: () => T): T | null {
  try {
    return look()
  } catch {
    return null
  }
}
