import { randomBytes } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Reaped, ReapOptions, SandboxOwner } from '../../core/sandbox.ts'
import { readJson } from '../../lib/parse-json.ts'
import {
  identitySchema,
  type Liveness,
  lastSignOf,
  livenessOf,
  markedOurselves,
  markName,
  ourselves,
  type ProcessIdentity,
  parseMarkName,
} from '../../lib/process-identity.ts'

const leaseSchema = z.object({
  schema: z.literal('lease/1'),
  id: z.string(),
  owner: z.object({ job: z.string(), trial: z.string() }),
  process: identitySchema,
  holder: identitySchema.nullable(),
})

/** Who holds a sandbox. */
export type LeaseFile = z.infer<typeof leaseSchema>

const held = new Set<string>()

/**
 * A new sandbox's name. It includes its owner, for the moments when its lease is not written yet or already gone; from
 * before the name is used until this process ends, a mark in `ownersDir` says that the owner is alive.
 */
export function newId(ownersDir: string): string {
  return `${randomBytes(6).toString('hex')}-${markName(markedOurselves(ownersDir))}`
}

/** The process in a sandbox's name; null for a name that is not ours. */
function ownerFromId(id: string): ProcessIdentity | null {
  const [, mark] = /^[0-9a-f]{12}-(.+)$/.exec(id) ?? []
  if (mark === undefined) return null
  const [, pid, startTicks] = /^(\d+)-(\d+)$/.exec(mark) ?? []
  if (pid === undefined || startTicks === undefined) return parseMarkName(mark)
  // The name format of earlier versions: assumed to be from this machine's current boot.
  return { ...ourselves(), pid: Number(pid), startTicks, pidNs: undefined }
}

/** How long an owner of an earlier version may be silent: it renewed the time of each lease every 15 seconds. */
const silenceMs = 120_000

/**
 * Whether the owner of a sandbox is alive, according to its lease or, without one, its name; `unknown` for a name that
 * is not ours.
 */
export function ownerLiveness(
  id: string,
  lease: LeaseFile | null,
  place: { dir: string; ownersDir: string },
): Liveness {
  const owner = lease?.process ?? ownerFromId(id)
  if (owner === null) return 'unknown'
  const liveness = livenessOf(owner, { ownersDir: place.ownersDir, sameState: true })
  const isOld = owner.pidNs === undefined
  return liveness === 'dead' && isOld && Date.now() - changedMs(leasePath(place.dir)) < silenceMs ? 'unknown' : liveness
}

/** When a sandbox's owner was last known to be alive, in milliseconds since 1970. */
function lastSignOfOwner(id: string, lease: LeaseFile | null, place: { dir: string; ownersDir: string }): number {
  const owner = lease?.process ?? ownerFromId(id)
  const mark = owner && markName(owner)
  const renewedMs = mark ? (lastSignOf(place.ownersDir, mark) ?? 0) : 0
  return Math.max(renewedMs, changedMs(leasePath(place.dir)), changedMs(place.dir))
}

function changedMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/** Writes this process's lease into a sandbox's directory. */
export function saveLease(dir: string, id: string, owner: SandboxOwner, holder: ProcessIdentity | null): void {
  const lease: LeaseFile = { schema: 'lease/1', id, owner, process: ourselves(), holder }
  // It is longer with a holder than without. A file that is first emptied is flushed to disk when it is closed.
  const isLonger = holder !== null && held.has(dir)
  writeFileSync(leasePath(dir), `${JSON.stringify(lease)}\n`, { flag: isLonger ? 'r+' : 'w' })
  held.add(dir)
}

/** Forgets one lease; returns how many this process still holds. */
export function forgetLease(dir: string): number {
  held.delete(dir)
  return held.size
}

/** The lease in a directory, or null when there is none that is readable. */
export function loadLease(dir: string): LeaseFile | null {
  try {
    return leaseSchema.parse(readJson(readFileSync(leasePath(dir), 'utf8')))
  } catch {
    return null
  }
}

function leasePath(dir: string): string {
  return join(dir, 'lease.json')
}

/** Whether it may be removed: its owner is dead, or has been silent for as long as the caller allows. */
export function isAbandoned(
  found: Reaped,
  lease: LeaseFile | null,
  place: { readonly dir: string; readonly ownersDir: string },
  { olderThanSec, left }: ReapOptions,
): boolean {
  const liveness = ownerLiveness(found.id, lease, place)
  if (liveness !== 'unknown') return liveness === 'dead'
  const silentSec = (Date.now() - lastSignOfOwner(found.id, lease, place)) / 1000
  if (olderThanSec !== undefined && silentSec > olderThanSec) return true
  const where = lease ? ` on ${lease.process.host}` : ''
  left?.({ ...found, what: `${found.what}${where}, which may be running` })
  return false
}
