import type { AgentExit } from '../../core/agent.ts'
import type { JobConfig } from '../../core/job.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { exhaustedBy, noteExhaustion } from '../../lib/exhaustion.ts'
import { sandboxAlternatives } from '../../plugins/make.ts'
import { checkJob } from '../../run/job/check-job.ts'
import type { OpenedJob } from '../../run/job/open-job.ts'
import type { JobTask } from '../../run/job/plan.ts'
import { runJob } from '../../run/job.ts'
import type { PrefetchSettings } from '../../run/prefetch.ts'
import { blameTrial } from '../../run/trial/stray-errors.ts'
import type { Screen } from '../guard-output.ts'
import { interruptSignal } from '../interrupt.ts'
import { note } from '../output.ts'
import { makeProgress } from '../progress/progress.ts'
import { makeTally } from '../progress/tally.ts'
import { agentOf, providerOf } from './configured.ts'
import { askConsent, type Consent } from './consent.ts'
import { makeResumedTally, renderResumed } from './interrupted.ts'
import { refuseUnjudged } from './judging.ts'
import { freeUse, type ModelUse } from './model-options.ts'
import { findModels, type JobModels } from './models.ts'
import { type PrefetchOptions, prefetchSettings } from './prefetch-settings.ts'
import { type PerformedJob, reportOutcome } from './report.ts'

/** How a command wants its job to be shown. */
export interface Showing {
  readonly quiet: boolean
  readonly json: boolean
  /** A line for each trial, however many there are. */
  readonly verbose?: boolean
  /** Where its progress is told (default: stderr). */
  readonly screen?: Screen
  /** A file for the result, beside stdout. */
  readonly output?: string
}

export interface JobToRun {
  readonly config: JobConfig
  readonly tasks: readonly JobTask[]
  /** Which variables of this machine its tasks may have. */
  readonly consent: Omit<Consent, 'verifies'>
  /** How its models may be used (default: as they like). */
  readonly use?: ModelUse
  /** What may be done for trials before they run (default: what this machine can take). */
  readonly prefetch?: PrefetchOptions
  /** Called once nothing can be wrong with the job any more: makes or finds its directory. */
  readonly open: () => Promise<OpenedJob>
  readonly again?: (record: TrialRecord) => boolean
  /** Leaves out what interrupted attempts recorded (default: it is replayed). */
  readonly restartInterrupted?: boolean | undefined
}

/** Runs a job in front of a person or a script: checks, progress, Ctrl-C, the result on stdout, the exit code. */
export async function runAskedJob(asked: JobToRun, showing: Showing): Promise<void> {
  const interrupt = interruptSignal()
  try {
    const outcome = await performJob(asked, showing, interrupt.signal)
    await reportOutcome(outcome, { ...showing, interrupted: interrupt.signal.aborted })
    if (outcome.stoppedByBudget) note('stopped by the budget, which is spent; run it again with a larger one to finish')
    process.exitCode = exitCodeOf(outcome, interrupt.signal.aborted)
  } finally {
    interrupt.stop()
  }
}

/** Checks and runs a job with its progress on stderr, and leaves what to say of it to the caller. */
export async function performJob(asked: JobToRun, showing: Showing, signal: AbortSignal): Promise<PerformedJob> {
  await askConsent(
    asked.tasks.map(({ task }) => task),
    { ...asked.consent, verifies: !asked.config.verifier.disable },
  )
  surviveStrayErrors()
  const provider = await providerOf(asked.config.environment)
  const makeIt = { provider, makeAgent: agentOf, hostEnv: process.env }
  await checkJob({ ...asked, ...makeIt })
  const use = asked.use ?? freeUse
  const tasks = asked.config.verifier.disable ? [] : asked.tasks.map(({ task }) => task)
  await refuseUnjudged(tasks, use.judge)
  const served = await findModels(
    asked.config,
    use,
    signal,
    asked.tasks.map(({ task }) => task),
  )
  const job = await asked.open()
  if (job.continued) note(`continues the job in ${job.dir}`)
  const models = await served.open(job.dir, asked.config.nConcurrentTrials)
  const prefetch = prefetchSettings(asked.prefetch ?? {}, asked.config.nConcurrentTrials, provider)
  try {
    return await runWatched(asked, job, { ...makeIt, ...models, prefetch }, signal, showing)
  } finally {
    await models.close()
  }
}

let isListening = false

/**
 * An error that an agent throws from a timer it left behind is told, and ends no job; nor does a machine that ran out of
 * something. An error of ours still ends the process.
 */
function surviveStrayErrors(): void {
  if (isListening) return
  isListening = true
  const onError = (error: unknown) => {
    const blamed = blameTrial(error)
    if (blamed) return note(`trial ${blamed.trial}: an error outside of any call; the job continues: ${blamed.message}`)
    const resource = exhaustedBy(error)
    if (resource !== null) return noteExhaustion(resource)
    note(error instanceof Error ? String(error.stack) : String(error))
    process.exit(1)
  }
  process.on('uncaughtException', onError)
  process.on('unhandledRejection', onError)
}

type MakeIt = {
  provider: SandboxProvider
  makeAgent: typeof agentOf
  hostEnv: NodeJS.ProcessEnv
  prefetch: PrefetchSettings
} & JobModels

async function runWatched(
  { again, restartInterrupted = false }: JobToRun,
  job: OpenedJob,
  makeIt: MakeIt,
  signal: AbortSignal,
  { quiet, verbose = false, screen = process.stderr }: Showing,
): Promise<PerformedJob> {
  let stop = () => {}
  let cutShort = 0
  const notes = new Set<string>()
  const resumed = makeResumedTally()
  try {
    const outcome = await runJob({
      job,
      ...makeIt,
      hooks: [],
      alternatives: await sandboxAlternatives(),
      signal,
      replayInterrupted: !restartInterrupted,
      ...(again && { again }),
      watch: ({ liveStats }) => {
        const progress = makeProgress(makeTally(job.plan.length, liveStats), screen, quiet, verbose)
        stop = progress.stop
        const ended = (record: TrialRecord) => {
          for (const text of record.sandbox?.notes ?? []) notes.add(text)
          if (record.end.kind === 'scored' && isOutOfBudget(record.end.exit)) cutShort++
          resumed.add(record)
          progress.ended(record)
        }
        return { ...progress, ended, reduced: note }
      },
    })
    const { pending, cancelled } = outcome.result.stats
    const unfinished = cutShort + pending + cancelled > 0
    const stoppedByBudget = unfinished && !signal.aborted && !makeIt.mayStart()
    return { ...outcome, stoppedByBudget, resumed: resumed.sums() }
  } finally {
    stop()
    // What every reader of the results must know is said once, however many trials it holds for.
    for (const text of [...notes].slice(0, 20)) note(`note: ${text}`)
    const sums = resumed.sums()
    if (sums) note(renderResumed(sums))
  }
}

function isOutOfBudget(exit: AgentExit): boolean {
  return exit.kind === 'limit' && exit.limit === 'cost'
}

/** 0 when every trial was scored, 3 when some failed or the budget was spent first, 130 when the job was stopped. */
function exitCodeOf({ liveStats, stoppedByBudget }: PerformedJob, interrupted: boolean): number {
  if (interrupted) return 130
  return liveStats.denominators().failed > 0 || stoppedByBudget ? 3 : 0
}
