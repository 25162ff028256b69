import { BoundaryError } from '../../core/errors.ts'
import type { SandboxLease } from '../../core/sandbox.ts'
import { bestEffort } from './boundary.ts'
import type { TrialContext } from './context.ts'

/** Whether a sandbox is known to be gone; one that does not answer is not. */
export async function isGone(context: TrialContext, lease: SandboxLease): Promise<boolean> {
  let alive = true
  await bestEffort('is the sandbox alive', 10, context, async () => {
    alive = await lease.alive()
  })
  return !alive
}

/** A sandbox that vanished takes the blame for everything that failed in it. */
export function sandboxGone(when: string, cause?: unknown): BoundaryError {
  return new BoundaryError('sandbox', `the sandbox died ${when}`, { code: 'SandboxGoneError', cause })
}
