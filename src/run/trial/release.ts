import { messageOf } from '../../core/errors.ts'
import type { SandboxLease } from '../../core/sandbox.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { neverAborted } from './boundary.ts'

/** How long the release of a sandbox may take before it is left to `ot-agent clean`. */
export const releaseSec = 20

/** Where to log what went wrong, and how long to wait. */
export interface ReleaseOptions {
  readonly log: (line: string) => void
  readonly releaseSec: number
}

/** Releases a sandbox. One that refuses or hangs is logged and left to `ot-agent clean`; it changes nothing else. */
export async function releaseSandbox(lease: SandboxLease, { log, releaseSec }: ReleaseOptions): Promise<void> {
  try {
    const outcome = await withDeadline(releaseSec, neverAborted(), () => Promise.resolve(lease[Symbol.asyncDispose]()))
    if (outcome === expired)
      log(`sandbox ${lease.id} was not released within ${releaseSec} s; ot-agent clean removes it`)
  } catch (error) {
    log(`sandbox ${lease.id} could not be released: ${messageOf(error)}; ot-agent clean removes it`)
  }
}

/** Waits a while for a lease that is not wanted any more; one that comes later is released when it comes. */
export async function releaseLate(pending: Promise<SandboxLease>, patience: ReleaseOptions): Promise<void> {
  const { log, releaseSec } = patience
  const returned = pending.then(
    (lease) => releaseSandbox(lease, patience),
    () => {},
  )
  const outcome = await withDeadline(releaseSec, neverAborted(), () => returned)
  if (outcome === expired)
    log('a sandbox that took too long to start still has not answered; ot-agent clean removes it')
}
