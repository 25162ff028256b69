import type { JobConfig } from '../../core/job.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { whoCan } from '../../plugins.ts'
import type { AheadSettings } from '../../run/ahead.ts'
import { checkJob } from '../../run/job/check-job.ts'
import type { OpenedJob } from '../../run/job/open-job.ts'
import type { JobTask } from '../../run/job/plan.ts'
import { type JobOutcome, runJob } from '../../run/job.ts'
import { interruptSignal } from '../interrupt.ts'
import { note } from '../output.ts'
import { makeProgress, type Screen } from '../progress/progress.ts'
import { makeTally } from '../progress/tally.ts'
import { type AheadOptions, aheadSettings } from './ahead-settings.ts'
import { agentOf, providerOf } from './configured.ts'
import { refuseUnjudged } from './judging.ts'
import { freeUse, type ModelUse } from './model-options.ts'
import { findModels, type JobModels } from './models.ts'
import { reportOutcome } from './report.ts'

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
  /** How its models may be used (default: as they like). */
  readonly use?: ModelUse
  /** What may be done for trials before they run (default: what this machine can take). */
  readonly ahead?: AheadOptions
  /** Called once nothing can be wrong with the job any more: makes or finds its directory. */
  readonly open: () => Promise<OpenedJob>
  readonly again?: (record: TrialRecord) => boolean
}

/** Runs a job in front of a person or a script: checks, progress, Ctrl-C, the result on stdout, the exit code. */
export async function runAskedJob(asked: JobToRun, showing: Showing): Promise<void> {
  const interrupt = interruptSignal()
  try {
    const outcome = await performJob(asked, showing, interrupt.signal)
    await reportOutcome(outcome, { ...showing, interrupted: interrupt.signal.aborted })
    process.exitCode = exitCodeOf(outcome, interrupt.signal.aborted)
  } finally {
    interrupt.stop()
  }
}

/** Checks and runs a job with its progress on stderr, and leaves what to say of it to the caller. */
export async function performJob(asked: JobToRun, showing: Showing, signal: AbortSignal): Promise<JobOutcome> {
  const provider = await providerOf(asked.config.environment)
  const makeIt = { provider, makeAgent: agentOf, hostEnv: process.env }
  await checkJob({ ...asked, ...makeIt })
  const use = asked.use ?? freeUse
  const tasks = asked.config.verifier.disable ? [] : asked.tasks.map(({ task }) => task)
  await refuseUnjudged(tasks, use.judge)
  const served = await findModels(asked.config, use, signal)
  const job = await asked.open()
  if (job.continued) note(`continues the job in ${job.dir}`)
  const models = await served.open(job.dir, asked.config.nConcurrentTrials)
  const ahead = aheadSettings(asked.ahead ?? {}, asked.config.nConcurrentTrials, provider)
  return runWatched(asked, job, { ...makeIt, ...models, ahead }, signal, showing).finally(models.close)
}

type MakeIt = {
  provider: SandboxProvider
  makeAgent: typeof agentOf
  hostEnv: NodeJS.ProcessEnv
  ahead: AheadSettings
} & JobModels

async function runWatched(
  { again }: JobToRun,
  job: OpenedJob,
  makeIt: MakeIt,
  signal: AbortSignal,
  { quiet, verbose = false, screen = process.stderr }: Showing,
): Promise<JobOutcome> {
  let stop = () => {}
  const notes = new Set<string>()
  try {
    return await runJob({
      job,
      ...makeIt,
      hooks: [],
      whoCan: await whoCan(),
      signal,
      ...(again && { again }),
      watch: ({ board }) => {
        const progress = makeProgress(makeTally(job.plan.length, board), screen, quiet, verbose)
        stop = progress.stop
        const ended = (record: TrialRecord) => {
          for (const text of record.sandbox?.notes ?? []) notes.add(text)
          progress.ended(record)
        }
        return { ...progress, ended }
      },
    })
  } finally {
    stop()
    // What every reader of the results must know is said once, however many trials it holds for.
    for (const text of [...notes].slice(0, 20)) note(`note: ${text}`)
  }
}

/** 0 when every trial was scored, 3 when some failed, 130 when the job was stopped. */
function exitCodeOf({ board }: JobOutcome, interrupted: boolean): number {
  if (interrupted) return 130
  return board.denominators().failed > 0 ? 3 : 0
}
