import type { SandboxLease, SandboxProvider, SandboxRequest } from '../../core/sandbox.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { neverAborted, releaseLate, releaseSec } from '../trial/boundary.ts'

/** Sandboxes that were started before their trials. */
export interface WarmSandboxes {
  /** Leases the prefetched sandbox, or one from the provider itself if there is none or it is broken. */
  lease(request: SandboxRequest): Promise<SandboxLease>
  /** Starts the sandbox of a future trial. Errors thrown by `ask` are ignored: the trial will run into them again. */
  start(trial: string, ask: () => Promise<SandboxRequest>): void
  has(trial: string): boolean
  readonly count: number
  /** Releases every unused sandbox. */
  close(): Promise<void>
}

/** How long a sandbox may take to respond. */
const aliveSec = 10

/** Lines kept for the log of a trial that has not begun. */
const maxLines = 1000

export function makeWarmSandboxes(provider: SandboxProvider): WarmSandboxes {
  const warm = new Map<string, Warm>()
  const lease = async (request: SandboxRequest): Promise<SandboxLease> => {
    const { trial } = request.owner
    const entry = warm.get(trial)
    warm.delete(trial)
    const ahead = entry && (await used(entry, request))
    return ahead ?? provider.lease(request)
  }
  return {
    lease,
    start: (trial, ask) => void warm.set(trial, startWarm(provider, ask)),
    has: (trial) => warm.has(trial),
    get count() {
      return warm.size
    },
    close: async () => {
      const left = [...warm.values()]
      warm.clear()
      await Promise.all(left.map((entry) => discard(entry, () => {})))
    },
  }
}

interface Warm {
  readonly controller: AbortController
  readonly lease: Promise<SandboxLease>
  /** The request, once it is known. */
  asked: string | null
  readonly lines: string[]
}

function startWarm(provider: SandboxProvider, ask: () => Promise<SandboxRequest>): Warm {
  const controller = new AbortController()
  const lines: string[] = []
  const entry: Warm = { controller, lease: leaseAhead(), asked: null, lines }
  entry.lease.catch(() => {})
  return entry

  async function leaseAhead(): Promise<SandboxLease> {
    const request = await ask()
    entry.asked = fingerprint(request)
    const log = (line: string) => void (lines.length < maxLines && lines.push(line))
    return provider.lease({ ...request, signal: controller.signal, log })
  }
}

/** A prefetched sandbox may only be used for an identical request. */
function fingerprint({ signal: _signal, log: _log, ...words }: SandboxRequest): string {
  const empty = (value: unknown) => Array.isArray(value) && value.length === 0
  return JSON.stringify(Object.entries(words).filter(([, value]) => !empty(value)))
}

/** The prefetched sandbox if it started, is alive and matches the request; otherwise null, and it is released. */
async function used(entry: Warm, request: SandboxRequest): Promise<SandboxLease | null> {
  const { signal, log = () => {} } = request
  const stop = () => entry.controller.abort(signal?.reason)
  signal?.addEventListener('abort', stop, { once: true })
  try {
    if (signal?.aborted) stop()
    const lease = await entry.lease.catch(() => null)
    for (const line of entry.lines) log(line)
    if (lease !== null && !signal?.aborted && entry.asked === fingerprint(request) && (await isAlive(lease))) {
      log('the sandbox was prefetched')
      return lease
    }
    await discard(entry, log)
    signal?.throwIfAborted()
    if (lease !== null) log('the prefetched sandbox is no longer usable; starting another one')
    return null
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

async function isAlive(lease: SandboxLease): Promise<boolean> {
  try {
    const alive = await withDeadline(aliveSec, neverAborted(), () => lease.alive())
    return alive !== expired && alive
  } catch {
    return false
  }
}

async function discard({ controller, lease }: Warm, log: (line: string) => void): Promise<void> {
  controller.abort()
  await releaseLate(lease, { log, releaseSec })
}
