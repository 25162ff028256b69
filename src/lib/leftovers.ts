import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { diskBytesOf } from './disk.ts'
import { parseDraftName, placesDirOf } from './drafts.ts'
import { exists, kindAt, namesIn } from './files.ts'
import {
  lastSignOf,
  listMarks,
  livenessOf,
  ownersDirOf,
  type ProcessIdentity,
  parseMarkName,
  removeMark,
} from './process-identity.ts'
import { type Noted, readNotes } from './process-notes.ts'
import { removeTree } from './remove-tree.ts'

/** Something that a process left behind when it died. */
export interface Leftover {
  readonly what: string
  readonly path: string
  readonly bytes: number
  readonly pid: number
}

export interface SweepOptions {
  readonly stateDir: string
  readonly dryRun: boolean
  /** Processes with unknown state count as dead after this many seconds without a sign of life. */
  readonly olderThanSec?: number | undefined
  /** Other files of a process in a directory where it had drafts, which are useless after its death. */
  readonly claims: (dir: string, of: ProcessIdentity) => Promise<readonly string[]>
}

export interface Swept {
  readonly removed: readonly Leftover[]
  /** What stays because its maker may be alive. */
  readonly left: readonly Leftover[]
}

/** Removes what dead processes left unfinished, wherever it is, and puts back what they had moved aside. */
export async function sweepLeftovers(options: SweepOptions): Promise<Swept> {
  const ownersDir = ownersDirOf(options.stateDir)
  const removed: Leftover[] = []
  const left: Leftover[] = []
  for (const noted of readNotes(placesDirOf(options.stateDir))) {
    const liveness = livenessOf(noted.process, { ownersDir, sameState: true })
    if (liveness === 'alive') continue
    const found = (await Promise.all(noted.lines.map((dir) => findIn(dir, noted, options)))).flat()
    if (liveness === 'unknown' && !isSilent(noted, ownersDir, options)) {
      left.push(...found)
      continue
    }
    for (const leftover of found) {
      if (!options.dryRun) await removeLeftover(leftover)
      removed.push(leftover)
    }
    if (!options.dryRun) await rm(noted.path, { force: true })
  }
  if (!options.dryRun) removeDeadMarks(options)
  return { removed, left }
}

async function findIn(dir: string, { mark, process }: Noted, { claims }: SweepOptions): Promise<Leftover[]> {
  const names = await namesIn(dir).catch((): string[] => [])
  const drafts = names.filter((name) => name.endsWith(`.${mark}.tmp`)).map((name) => join(dir, name))
  const found = [...drafts, ...(await claims(dir, process))]
  return Promise.all(
    found.map(async (path) => ({ what: await nameOf(path), path, bytes: await diskBytesOf(path), pid: process.pid })),
  )
}

async function nameOf(path: string): Promise<string> {
  const name = path.split('/').at(-1) ?? ''
  const target = await targetOf(path)
  if (target !== null) return 'earlier version, restored'
  if (parseDraftName(name) === null) return 'claim of a dead process'
  const kind = await kindAt(path).catch(() => 'other')
  return kind === 'dir' ? 'unfinished directory' : 'unfinished file'
}

/** Where something that was moved aside belongs, unless its successor is there. */
async function targetOf(path: string): Promise<string | null> {
  const name = path.split('/').at(-1) ?? ''
  const putBack = parseDraftName(name)?.putBack ?? null
  const target = putBack === null ? null : join(path.slice(0, -name.length), putBack)
  return target === null || (await exists(target)) ? null : target
}

async function removeLeftover({ path }: Leftover): Promise<void> {
  const target = await targetOf(path)
  if (target !== null) await rename(path, target)
  else await rm(path, { recursive: true, force: true }).catch(() => removeTree(path))
}

function isSilent({ mark, changedMs }: Noted, ownersDir: string, { olderThanSec }: SweepOptions): boolean {
  const lastMs = Math.max(changedMs, lastSignOf(ownersDir, mark) ?? 0)
  return olderThanSec !== undefined && Date.now() - lastMs > olderThanSec * 1000
}

/** A mark tells other PID namespaces that its owner is dead, so it stays for a day. It takes no space. */
const markDaySec = 86_400

function removeDeadMarks({ stateDir, olderThanSec }: SweepOptions): void {
  const ownersDir = ownersDirOf(stateDir)
  const leastSec = Math.min(olderThanSec ?? markDaySec, markDaySec)
  for (const file of listMarks(ownersDir)) {
    const owner = parseMarkName(file.replace(/^\.|\.tmp$/g, ''))
    const silentMs = Date.now() - (lastSignOf(ownersDir, file) ?? Date.now())
    if (owner === null || silentMs < leastSec * 1000) continue
    const liveness = livenessOf(owner, { ownersDir })
    if (liveness === 'dead' || (liveness === 'unknown' && silentMs > (olderThanSec ?? Infinity) * 1000))
      removeMark(ownersDir, file)
  }
}
