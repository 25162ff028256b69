import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/** Names one process for ever: a pid alone is reused. */
export interface ProcessIdentity {
  readonly pid: number
  /** Start time in clock ticks since boot. */
  readonly startTicks: string
  readonly bootId: string
  readonly host: string
}

/** The identity of a running process on this machine, or null when it is gone. */
export function identify(pid: number): ProcessIdentity | null {
  const startTicks = readStartTicks(pid)
  return startTicks === null ? null : { pid, startTicks, bootId: bootId(), host: hostname() }
}

/** Whether that very process still runs; `unknown` for a process of another machine. */
export function livenessOf(identity: ProcessIdentity): 'alive' | 'dead' | 'unknown' {
  if (identity.bootId !== bootId()) return identity.host === hostname() ? 'dead' : 'unknown'
  return readStartTicks(identity.pid) === identity.startTicks ? 'alive' : 'dead'
}

let cachedBootId: string | undefined
function bootId(): string {
  cachedBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return cachedBootId
}

/** Field 22 of /proc/PID/stat; the name before it may hold spaces and brackets. A zombie counts as gone. */
function readStartTicks(pid: number): string | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null)
  } catch {
    return null
  }
}
