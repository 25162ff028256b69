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

/** Writes the lease of this process for a sandbox's directory and keeps its heart beating. */
export function saveLease(dir: string, id: string, owner: SandboxOwner, holder: ProcessIdentity | null): void {
  const process_ = identify(process.pid)
  if (!process_) throw new Error('this process cannot find itself in /proc')
  const lease: LeaseFile = { schema: 'lease/1', id, owner, process: process_, holder }
  writeFileSync(leasePath(dir), `${JSON.stringify(lease)}\n`)
  held.add(dir)
  heart ??= setInterval(beat, heartbeatMs).unref()
}

export function forgetLease(dir: string): void {
  held.delete(dir)
  if (held.size > 0) return
  clearInterval(heart)
  heart = undefined
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
