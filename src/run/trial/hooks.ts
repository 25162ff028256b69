import { BoundaryError } from '../../core/errors.ts'
import type { TrialConfig } from '../../core/job.ts'
import type { TrialEvent, TrialEventName, TrialHook, TrialRecord } from '../../core/trial.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { utcNow } from '../../lib/time.ts'
import { atBoundary, neverAborted } from './boundary.ts'

const hookSec = 300

interface About {
  readonly hooks: readonly TrialHook[]
  readonly config: TrialConfig
  readonly task: { readonly name: string }
  readonly signal: AbortSignal
}

/** Tells every hook what happens to a trial, one after the other; what one throws fails the trial. */
export function makeAnnouncer({ hooks, config, task, signal }: About) {
  return async (event: TrialEventName, record?: TrialRecord): Promise<void> => {
    const about = { event, trialName: config.trialName, taskName: task.name, config, timestamp: utcNow() }
    const until = event === 'trial-cancel' || event === 'trial-end' ? neverAborted() : signal
    for (const hook of hooks) await callHook(hook, { ...about, ...(record && { record }) }, until)
  }
}

async function callHook(hook: TrialHook, event: TrialEvent, signal: AbortSignal): Promise<void> {
  const details = { code: 'HookError' }
  const done = await atBoundary('store', signal, () => withDeadline(hookSec, signal, async () => hook(event)), details)
  if (done !== expired) return
  throw new BoundaryError('store', `a hook for ${event.event} did not return within ${hookSec} s`, details)
}
