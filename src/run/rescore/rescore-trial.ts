import { randomUUID } from 'node:crypto'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import type { Rewards } from '../../core/rewards.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { Span, TrialRecord } from '../../core/trial.ts'
import { utcNow } from '../../lib/time.ts'
import type { TrialStore } from '../../store/trial-store.ts'
import type { PlannedTrial } from '../job/plan.ts'
import { loadManifest, type SavedArtifact } from '../trial/artifacts.ts'
import { effectiveEnvironment, refuseUnmetNeeds, type WhoCan } from '../trial/environment.ts'
import { makeMask } from '../trial/mask.ts'
import { timed } from '../trial/round.ts'
import { type HostEnv, type Scene, wholeTask } from '../trial/scene.ts'
import { openTrialLog } from '../trial/trial-log.ts'
import { type Verified, verifySeparately } from '../trial/verify.ts'

export interface RescoreRequest {
  readonly jobName: string
  readonly store: TrialStore
  readonly provider: SandboxProvider
  readonly hostEnv: HostEnv
  readonly whoCan: WhoCan
  readonly signal: AbortSignal
  /** Take the user's word that declared artefacts are all the tests of a shared verifier look at. */
  readonly artifactsSuffice: boolean
}

/** What became of one trial that was to be verified again. */
export type Rescored =
  | { readonly kind: 'rescored'; readonly before: Rewards | null; readonly after: Rewards }
  | { readonly kind: 'not-rescorable'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

/**
 * Runs only the tests of a finished trial again, in a fresh sandbox that gets its kept artefacts. The new score takes the
 * place of the old, which is put aside; a verification that fails changes nothing.
 */
export async function rescoreTrial(
  trial: PlannedTrial,
  record: TrialRecord,
  request: RescoreRequest,
): Promise<Rescored> {
  await using kept = await request.store.open(trial.name)
  const saved = await loadManifest(kept.dir)
  const reason = whyNot(trial, record, saved, request.artifactsSuffice)
  if (reason !== null) return { kind: 'not-rescorable', reason }
  const dir = await mkdtemp(join(tmpdir(), 'ot-agent-rescore-'))
  try {
    await cp(kept.dir, dir, { recursive: true, verbatimSymlinks: true })
    const { verified, span } = await verifyAgain(trial, saved, dir, request)
    await replaceRecord(trial, rescoredRecord(record, verified, span), dir, request.store)
    return {
      kind: 'rescored',
      before: record.end.kind === 'scored' ? record.end.rewards : null,
      after: verified.rewards,
    }
  } catch (error) {
    if (request.signal.aborted) throw error
    return { kind: 'failed', reason: messageOf(error) }
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

function whyNot(
  { task }: PlannedTrial,
  { end, config }: TrialRecord,
  saved: readonly SavedArtifact[],
  suffice: boolean,
): string | null {
  if (end.kind === 'cancelled') return 'it was cancelled'
  if (end.kind === 'failed' && end.failure.boundary !== 'verifier')
    return `it failed at ${end.failure.boundary}, before the tests`
  if (config.verifier.disable) return 'verification is switched off in its job'
  if (task.steps.length > 0) return 'its task has steps, each of which needs the sandbox of the one before'
  if (task.verifier.mode !== 'separate' && !suffice) return "its tests look at the agent's own sandbox, which is gone"
  return saved.some(({ status }) => status === 'ok') ? null : 'it kept no artefacts'
}

async function verifyAgain(trial: PlannedTrial, saved: readonly SavedArtifact[], dir: string, request: RescoreRequest) {
  const { task, config } = trial
  const log = openTrialLog(join(dir, 'trial.log'), makeMask(config, request.hostEnv))
  const scene: Scene = { ...request, task, config, dir, log: (line) => log.write(line) }
  let span: Span | null = null
  try {
    const environment = await effectiveEnvironment(task.verifier.environment ?? task.environment, config.environment)
    await refuseUnmetNeeds(task, [environment], config, request.provider, request.whoCan)
    scene.log('verified again, on the kept artefacts')
    const note = (timing: Span) => {
      span = timing
    }
    const verified = await timed(note, () => verifySeparately(scene, wholeTask(scene), saved))
    scene.log(`rewards ${JSON.stringify(verified.rewards)}`)
    return { verified, span }
  } finally {
    await log.close()
  }
}

function rescoredRecord(record: TrialRecord, verified: Verified, span: Span | null): TrialRecord {
  const exit = record.end.kind === 'scored' ? record.end.exit : ({ kind: 'finished' } as const)
  const { rewards, isolation, bothRewardFiles } = verified
  return {
    ...record,
    id: randomUUID(),
    end: { kind: 'scored', rewards, exit },
    isolation,
    bothRewardFiles,
    spans: { ...record.spans, verifier: span },
    finishedAt: utcNow(),
  }
}

async function replaceRecord(trial: PlannedTrial, record: TrialRecord, dir: string, store: TrialStore): Promise<void> {
  await store.retract(trial.name)
  const target = await store.begin(trial.config)
  const old = /^(result\.json|record\.json|exception\.txt|failed-\d+\.tar\.gz)$/
  await cp(dir, target, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !old.test(source.slice(dir.length + 1)),
  })
  await store.commit(record)
}
