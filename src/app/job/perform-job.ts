import type { AgentExit } from '../../core/agent.ts'
import type { JobConfig } from '../../core/job.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { exhaustedBy, noteExhaustion } from '../../lib/exhaustion.ts'
import { renderCount } from '../../lib/show-numbers.ts'
import { sandboxAlternatives } from '../../plugins/make.ts'
import type { OpenedJob } from '../../run/job/open-job.ts'
import type { JobTask } from '../../run/job/plan.ts'
import { checkJob } from '../../run/job/plan.ts'
import type { JobWatch } from '../../run/job/run-trials.ts'
import { type JobOutcome, type JobStart, runJob, type TrialParts } from '../../run/job.ts'
import { blameTrial } from '../../run/trial/boundary.ts'
import type { Sums } from '../../store/ledger.ts'
import { agentOf, providerOf } from './configured.ts'
import { askConsent, type Confirm, type Consent } from './consent.ts'
import { refuseUnjudged } from './judge.ts'
import { type ModelUse, unlimitedUse } from './model-use.ts'
import { findModels, judgedIn, type ServedModels } from './models.ts'
import type { JobModels } from './open-models.ts'
import { type PrefetchOptions, prefetchSettings } from './prefetch-settings.ts'
import type { Notify } from './tasks-request.ts'

export type { JobWatch } from '../../run/job/run-trials.ts'
export type { JobStart } from '../../run/job.ts'

export interface JobToRun {
  readonly config: JobConfig
  /** Reads its tasks. */
  readonly loadTasks: () => Promise<readonly JobTask[]>
  /** Which variables of this machine its tasks may use. */
  readonly consent: Omit<Consent, 'verifies'>
  /** How its models may be used (default: no limits). */
  readonly use?: ModelUse
  /** What may be prefetched for trials (default: what this machine can handle). */
  readonly prefetch?: PrefetchOptions | undefined
  /** Finds the job's directory, or creates it once `check` has passed. */
  readonly open: (check: () => Promise<unknown>) => Promise<OpenedJob>
  readonly again?: (record: TrialRecord) => boolean
  /** Discards what interrupted attempts recorded (default: replays it). */
  readonly restartInterrupted?: boolean | undefined
}

/** How a caller follows a job while it runs. */
export interface JobFollower {
  readonly notify: Notify
  readonly signal: AbortSignal
  /** Follows the trials (default: none). */
  readonly watch?: ((start: JobStart) => JobWatch & { stop?(): void }) | undefined
  readonly confirm?: Confirm | undefined
}

/** The outcome of a job. */
export interface PerformedJob extends JobOutcome {
  /** True if trials were cut short or not started because a budget was spent. */
  readonly stoppedByBudget: boolean
  /** Null if no trial had been interrupted. */
  readonly resumed: ResumedSums | null
  /** The judge's usage; null if no judge was asked. */
  readonly judge: Sums | null
}

/**
 * Checks and runs a job. Problems are thrown before its directory is created or anything in it is changed. A job whose
 * trials have all ended is not checked, because it needs no sandbox, agent or model any more.
 */
export async function performJob(asked: JobToRun, follower: JobFollower): Promise<PerformedJob> {
  let checked: Promise<Checked> | undefined
  const check = () => {
    checked ??= checkAsked(asked, follower)
    return checked
  }
  const job = await asked.open(check)
  if (job.continued) follower.notify(`resuming the job in ${job.dir}`)
  let models: JobModels | undefined
  const parts = async () => {
    const { served, ...checkedParts } = await check()
    const { nConcurrentTrials } = asked.config
    models = await served.open(job.dir, nConcurrentTrials)
    const prefetch = prefetchSettings(asked.prefetch ?? {}, nConcurrentTrials, checkedParts.provider)
    return { ...checkedParts, ...models, prefetch }
  }
  const performed = await runFollowed(asked, { job, parts }, follower).finally(() => models?.close())
  return { ...performed, judge: models ? await models.judgeSums() : await judgedIn(job.dir) }
}

type Checked = Pick<Parts, 'provider' | 'makeAgent' | 'hostEnv' | 'tasks'> & { readonly served: ServedModels }

/** Checks everything that could keep trials from running. */
async function checkAsked(asked: JobToRun, { notify, signal, confirm }: JobFollower): Promise<Checked> {
  const { config, use = unlimitedUse } = asked
  const jobTasks = await asked.loadTasks()
  const tasks = jobTasks.map(({ task }) => task)
  await askConsent(tasks, { ...asked.consent, verifies: !config.verifier.disable }, confirm)
  surviveStrayErrors(notify)
  const provider = await providerOf(config.environment)
  const parts = { provider, makeAgent: agentOf, hostEnv: process.env, tasks: jobTasks }
  await checkJob({ ...asked, ...parts })
  await refuseUnjudged(config.verifier.disable ? [] : tasks, use.judge)
  return { ...parts, served: await findModels(config, { use, tasks, notify, signal }) }
}

/** Where stray errors are reported: the follower of the latest job. */
let latestNotify: Notify | null = null

/**
 * Keeps a job alive through errors that an agent throws from a leftover timer, and through exhausted system resources,
 * and reports them. Any other error ends the process, as usual.
 */
function surviveStrayErrors(notify: Notify): void {
  const isListening = latestNotify !== null
  latestNotify = notify
  if (isListening) return
  const onError = (error: unknown) => {
    const blamed = blameTrial(error)
    if (blamed)
      return latestNotify?.(`trial ${blamed.trial}: error in background code; the job continues: ${blamed.message}`)
    const resource = exhaustedBy(error)
    if (resource !== null) return noteExhaustion(resource)
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
    process.exit(1)
  }
  process.on('uncaughtException', onError)
  process.on('unhandledRejection', onError)
}

type Parts = Pick<TrialParts, 'provider' | 'makeAgent' | 'hostEnv' | 'prefetch' | 'tasks'> & JobModels

interface JobWithParts {
  readonly job: OpenedJob
  readonly parts: () => Promise<Parts>
}

async function runFollowed(
  { again, restartInterrupted = false }: JobToRun,
  { job, parts }: JobWithParts,
  { notify, signal, watch }: JobFollower,
): Promise<Omit<PerformedJob, 'judge'>> {
  let mayStart = () => true
  let stop = () => {}
  let cutShort = 0
  const notes = new Set<string>()
  const resumed = makeResumedTally()
  try {
    const outcome = await runJob({
      job,
      parts: async () => {
        const found = await parts()
        mayStart = () => found.mayStart()
        return { ...found, hooks: [], alternatives: sandboxAlternatives, replayInterrupted: !restartInterrupted }
      },
      signal,
      ...(again && { again }),
      watch: (start) => {
        const follower = watch?.(start)
        stop = () => follower?.stop?.()
        const ended = (record: TrialRecord) => {
          for (const text of record.sandbox?.notes ?? []) notes.add(text)
          if (record.end.kind === 'scored' && isOutOfBudget(record.end.exit)) cutShort++
          resumed.add(record)
          follower?.ended(record)
        }
        return { started: () => {}, retrying: () => {}, reduced: notify, ...follower, ended }
      },
    })
    const { pending, cancelled } = outcome.result.stats
    const unfinished = cutShort + pending + cancelled > 0
    const stoppedByBudget = unfinished && !signal.aborted && !mayStart()
    return { ...outcome, stoppedByBudget, resumed: resumed.sums() }
  } finally {
    stop()
    // Each note is printed once, however many trials it applies to.
    for (const text of [...notes].slice(0, 20)) notify(`note: ${text}`)
    const sums = resumed.sums()
    if (sums) notify(renderResumed(sums))
  }
}

function isOutOfBudget(exit: AgentExit): boolean {
  return exit.kind === 'limit' && exit.limit === 'cost'
}

/** How the interrupted trials of an earlier run ended. */
interface ResumedSums {
  /** Trials whose recorded replies were replayed. */
  readonly replayed: number
  /** Trials that started over because a request differed from the recorded one. */
  readonly diverged: number
  /** Trials that started over because their replies could not be used. */
  readonly notReplayed: number
  /** Replies that did not have to be requested again, and what they had cost. */
  readonly turns: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costUsd: number
}

/** Counts previously interrupted trials as they end. */
function makeResumedTally(): { add(record: TrialRecord): void; sums(): ResumedSums | null } {
  const sums = { replayed: 0, diverged: 0, notReplayed: 0, turns: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 }
  return {
    add({ resumed }) {
      if (resumed?.kind === 'diverged') sums.diverged++
      if (resumed?.kind === 'not-replayed') sums.notReplayed++
      if (resumed?.kind !== 'replayed') return
      sums.replayed++
      sums.turns += resumed.turns
      sums.inputTokens += resumed.inputTokens
      sums.outputTokens += resumed.outputTokens
      sums.costUsd += resumed.costUsd ?? 0
    },
    sums: () => (sums.replayed + sums.diverged + sums.notReplayed > 0 ? { ...sums } : null),
  }
}

/** The same as text, for people. */
function renderResumed({ replayed, diverged, notReplayed, ...saved }: ResumedSums): string {
  const cost = saved.costUsd > 0 ? `, $${saved.costUsd.toFixed(2)}` : ''
  const tokens = `${renderCount(saved.inputTokens)} in, ${renderCount(saved.outputTokens)} out${cost}`
  const parts = [
    replayed > 0 ? `${replayed} resumed by replay, ${saved.turns} replies reused (${tokens})` : '',
    diverged > 0 ? `${diverged} started over because the replay diverged` : '',
    notReplayed > 0 ? `${notReplayed} started over without a replay` : '',
  ]
  return `interrupted trials: ${parts.filter(Boolean).join('; ')}`
}
