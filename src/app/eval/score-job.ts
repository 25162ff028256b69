import { evalKeyOf } from '../../stats/metrics.ts'
import type { JobDir } from '../../store/job-dir.ts'
import { openTrialStore } from '../../store/open-store.ts'
import { type RunNumbers, RunTally } from './run-tally.ts'

/** A job's result: what each agent and model achieved, with what uncertainty, and what is left out. */
export interface EvalReport {
  readonly schema: 'eval-report/2'
  readonly job: string
  readonly dir: string
  readonly runs: readonly RunScore[]
}

/** One agent with one model on one dataset. */
export interface RunScore extends RunNumbers {
  /** Identifies the run: the job's name, plus agent and model if the job has several. */
  readonly name: string
  readonly state: RunState
  /** Why the state is not `complete`. */
  readonly reasons: readonly string[]
}

/** A partial result is shown with its reasons and never ranked. */
export type RunState = 'complete' | 'partial'

export interface ScoreOptions {
  /** The largest share of trials that may end in an infrastructure failure (default: 0.05). */
  readonly maxFailedShare?: number | undefined
}

/** The share of infrastructure failures above which a result is partial. */
export const usualFailedShare = 0.05

/** Reads every trial of a job and scores it. */
export async function scoreJob(job: JobDir, options: ScoreOptions = {}): Promise<EvalReport> {
  const tallies = new Map<string, RunTally>()
  const store = await openTrialStore(job.dir, job.layout)
  let ended = 0
  try {
    for await (const record of store.records()) {
      const key = evalKeyOf(record)
      const tally = tallies.get(key) ?? new RunTally(record)
      tallies.set(key, tally)
      tally.add(record)
      ended++
    }
  } finally {
    await store.close()
  }
  const missing = Math.max(0, (job.result?.totalTrials ?? 0) - ended)
  const runs = [...tallies].map(([key, tally]) => {
    const numbers = tally.read()
    const reasons = reasonsOf(numbers, missing, options.maxFailedShare ?? usualFailedShare)
    const state: RunState = reasons.length === 0 ? 'complete' : 'partial'
    return { name: tallies.size === 1 ? job.name : `${job.name}: ${key}`, state, reasons, ...numbers }
  })
  return { schema: 'eval-report/2', job: job.name, dir: job.dir, runs }
}

function reasonsOf({ trials, accuracy }: RunNumbers, missing: number, maxFailedShare: number): string[] {
  const { failed, cancelled, unverified, trials: all } = trials
  const share = failed / all
  return [
    ...(missing > 0 ? [`${missing} trials of the job have not ended`] : []),
    ...(cancelled > 0 ? [`${cancelled} trials were cancelled`] : []),
    ...(share > maxFailedShare
      ? [
          `${failed} of ${all} trials ended in an infrastructure failure, more than ${Number((100 * maxFailedShare).toFixed(1))} %`,
        ]
      : []),
    ...(unverified > 0 ? [`${unverified} trials were not verified`] : []),
    ...(accuracy === null && unverified === 0 ? ['no trial has a reward'] : []),
  ]
}
