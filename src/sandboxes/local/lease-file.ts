import { randomBytes } from 'node:crypto'
import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { SandboxOwner } from '../../core/sandbox.ts'
import { identify, type ProcessIdentity } from '../../lib/process-identity.ts'

const identitySchema = z.object({ pid: z.number(), startTicks: z.string(), bootId: z.string(), host: z.string() })
const leaseSchema = z.object({
  schema: z.literal('lease/1'),
  id: z.string(),
  owner: z.object({ job: z.string(), trial: z.string() }),
  process: identitySchema,
  holder: identitySchema.nullable(),
})

/** Who holds a sandbox. The file's time of change is its heartbeat. */
export type LeaseFile = z.infer<typeof leaseSchema>

const heartbeatMs = 15_000
const held = new Set<string>()
let heart: NodeJS.Timeout | undefined

/** A new sandbox's name. It names its owner too, for the moments when its lease is not written yet or gone already. */
export function newId(): string {
  const { pid, startTicks } = ourselves()
  return `${randomBytes(6).toString('hex')}-${pid}-${startTicks}`
}

/** The process in a sandbox's name, taken to be of this machine's present run; null for a name that is not ours. */
export function ownerFromId(id: string): ProcessIdentity | null {
  const [, pid, startTicks] = /^[0-9a-f]{12}-(\d+)-(\d+)$/.exec(id) ?? []
  return pid === undefined || startTicks === undefined ? null : { ...ourselves(), pid: Number(pid), startTicks }
}

function ourselves(): ProcessIdentity {
  const identity = identify(process.pid)
  if (!identity) throw new Error('this process cannot find itself in /proc')
  return identity
}

/** Writes the lease of this process for a sandbox's directory and keeps its heart beating. */
export function saveLease(dir: string, id: string, owner: SandboxOwner, holder: ProcessIdentity | null): void {
  const lease: LeaseFile = { schema: 'lease/1', id, owner, process: ourselves(), holder }
  writeFileSync(leasePath(dir), `${JSON.stringify(lease)}\n`)
  held.add(dir)
  heart ??= setInterval(beat, heartbeatMs).unref()
}

/** Stops the heart of one lease; returns how many this process still holds. */
export function forgetLease(dir: string): number {
  held.delete(dir)
  if (held.size === 0) {
    clearInterval(heart)
    heart = undefined
  }
  return held.size
}

/** The lease in a directory, or null when there is none that can be read. */
export function loadLease(dir: string): LeaseFile | null {
  try {
    return leaseSchema.parse(JSON.parse(readFileSync(leasePath(dir), 'utf8')))
  } catch {
    return null
  }
}

export function leasePath(dir: string): string {
  return join(dir, 'lease.json')
}

function beat(): void {
  const now = new Date()
  for (const dir of held) {
    try {
      utimesSync(leasePath(dir), now, now)
    } catch {
      // Given back a moment ago.
    }
  }
}
