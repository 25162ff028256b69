import { randomUUID } from 'node:crypto'
import { cp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import type { TrialConfig } from '../../core/job.ts'
import type { Judge } from '../../core/judge.ts'
import type { Rewards } from '../../core/rewards.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { Task } from '../../core/task.ts'
import type { Span, TrialRecord } from '../../core/trial.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { utcNow } from '../../lib/time.ts'
import type { TrialStore } from '../../store/trial-store.ts'
import { loadManifest, type SavedArtifact } from '../trial/artifacts.ts'
import { releaseSec } from '../trial/boundary.ts'
import { type HostEnv, type TrialContext, wholeTask } from '../trial/context.ts'
import { effectiveEnvironment, refuseUnmetNeeds, type SandboxAlternatives } from '../trial/environment.ts'
import { makeMask } from '../trial/mask.ts'
import { timed } from '../trial/round.ts'
import { openTrialLog } from '../trial/trial-log.ts'
import type { Verified } from '../trial/two-systems.ts'
import { verifySeparately } from '../trial/verify.ts'

export interface RescoreRequest {
  readonly jobName: string
  readonly store: TrialStore
  readonly provider: SandboxProvider
  readonly hostEnv: HostEnv
  readonly alternatives: SandboxAlternatives
  readonly signal: AbortSignal
  /** For tasks judged by a model: a judge whose calls are charged to the trial. */
  readonly judgeFor?: ((trial: string) => Judge) | undefined
  /** Trust the user that a shared verifier's tests look at nothing but the declared artifacts. */
  readonly artifactsSuffice: boolean
}

/** The outcome of verifying one trial again. */
export type Rescored =
  | { readonly kind: 'rescored'; readonly before: Rewards | null; readonly after: Rewards }
  | { readonly kind: 'not-rescorable'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

/** A finished trial with the task in its current state: its tests may have been fixed since. */
export interface TrialToRescore {
  readonly record: TrialRecord
  readonly task: Task
  readonly config: TrialConfig
}

/**
 * Runs only the tests of a finished trial again, in a fresh sandbox with its kept artifacts. The new score replaces the
 * old one, which is set aside; a failed verification changes nothing.
 */
export async function rescoreTrial(trial: TrialToRescore, request: RescoreRequest): Promise<Rescored> {
  const { record } = trial
  await using kept = await request.store.open(record.name)
  const saved = await loadManifest(kept.dir)
  const reason = whyNot(trial, saved, request.artifactsSuffice)
  if (reason !== null) return { kind: 'not-rescorable', reason }
  const dir = await makeScratchDir(join(tmpdir(), 'ot-agent-rescore-'))
  try {
    await cp(kept.dir, dir, { recursive: true, verbatimSymlinks: true })
    const outcome = await verifyAgain(trial, saved, dir, request)
    if ('reason' in outcome) return { kind: 'failed', reason: outcome.reason }
    await request.store.replace(rescoredRecord(trial, outcome), dir)
    const before = record.end.kind === 'scored' ? record.end.rewards : null
    return { kind: 'rescored', before, after: outcome.verified.rewards }
  } finally {
    await removeDraft(dir)
  }
}

function whyNot({ task, record }: TrialToRescore, saved: readonly SavedArtifact[], suffice: boolean): string | null {
  const { end, config } = record
  const early = end.kind === 'failed' && end.failure.boundary !== 'verifier'
  if (end.kind === 'cancelled') return 'it was cancelled'
  if (early) return `it failed at ${end.failure.boundary}, before the tests`
  if (config.verifier.disable) return 'verification is disabled in its job'
  if (task.steps.length > 0) return 'its task has steps, each of which needs the sandbox of the one before'
  if (task.verifier.mode !== 'separate' && !suffice) return "its tests look at the agent's own sandbox, which is gone"
  return saved.some(({ status }) => status === 'ok') ? null : 'it kept no artifacts'
}

interface NewScore {
  readonly verified: Verified
  readonly span: Span | null
}

async function verifyAgain(
  { task, config }: TrialToRescore,
  saved: readonly SavedArtifact[],
  dir: string,
  request: RescoreRequest,
): Promise<NewScore | { readonly reason: string }> {
  const log = openTrialLog(join(dir, 'trial.log'), makeMask(config, request.hostEnv))
  const judge = request.judgeFor?.(config.trialName)
  const context: TrialContext = { ...request, judge, releaseSec, task, config, dir, log: (line) => log.write(line) }
  let span: Span | null = null
  try {
    const environment = await effectiveEnvironment(task.verifier.environment ?? task.environment, config.environment)
    await refuseUnmetNeeds(task, [environment], config, {
      provider: request.provider,
      alternatives: request.alternatives,
    })
    context.log('verified again, on the kept artifacts')
    const note = (timing: Span) => {
      span = timing
    }
    const verified = await timed(note, () => verifySeparately(context, wholeTask(context), saved))
    context.log(`rewards ${JSON.stringify(verified.rewards)}`)
    return { verified, span }
  } catch (error) {
    if (request.signal.aborted || !(error instanceof BoundaryError)) throw error
    return { reason: error.message }
  } finally {
    await log.close()
  }
}

/** The record says that the score is from a later day than the work, and which tests gave it. */
function rescoredRecord({ record, task }: TrialToRescore, { verified, span }: NewScore): TrialRecord {
  const { rewards, isolation, bothRewardFiles } = verified
  const finishedAt = utcNow()
  const remark = `scored again at ${finishedAt} by the tests of task content ${task.digests.content.slice(0, 12)}`
  return {
    ...record,
    id: randomUUID(),
    end: { kind: 'scored', rewards, exit: record.end.kind === 'scored' ? record.end.exit : { kind: 'finished' } },
    isolation,
    bothRewardFiles,
    sandbox: record.sandbox && { ...record.sandbox, notes: [...record.sandbox.notes, remark] },
    spans: { ...record.spans, verifier: span },
    finishedAt,
  }
}
