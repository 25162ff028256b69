import type { Denominators, JobResult } from '../core/job-stats.ts'
import type { TrialRecord } from '../core/trial.ts'
import { type JobStart, performJob } from './job/perform-job.ts'
import { planJob, prepareJob } from './job/prepare-job.ts'
import type { TasksRequest } from './job/tasks-request.ts'
import { Running } from './running.ts'

export type { TasksRequest } from './job/tasks-request.ts'

/** What happens while tasks are run. */
export type TasksEvent =
  | { readonly kind: 'note'; readonly text: string }
  /** The job's directory exists; `pending` trials are still to run. `liveStats` is updated as trials end. */
  | ({ readonly kind: 'job-start'; readonly dir: string; readonly trials: number } & Pick<
      JobStart,
      'pending' | 'liveStats'
    >)
  | { readonly kind: 'trial-start'; readonly trial: string }
  | { readonly kind: 'trial-retry'; readonly record: TrialRecord; readonly waitSec: number }
  | { readonly kind: 'trial-end'; readonly record: TrialRecord }

export interface TasksResult {
  readonly jobDir: string
  /** All trials of the job by how they ended. */
  readonly ends: Denominators
  /** The same for each agent, model and dataset. */
  readonly groups: ReadonlyMap<string, Denominators>
  readonly job: JobResult
  /** True if trials were cut short or not started because a budget was spent. */
  readonly stoppedByBudget: boolean
}

export interface RunControl {
  /** Stops the work; finished parts are kept, and the same request resumes it. */
  readonly signal?: AbortSignal | undefined
}

/** Runs tasks with an agent in sandboxes, like `ot-agent run`, and stores every trial in a job directory. */
export function runTasks(request: TasksRequest, control: RunControl = {}): Running<TasksEvent, TasksResult> {
  return new Running(async (emit) => {
    const notify = (text: string) => emit({ kind: 'note', text })
    const planned = await planJob(request, notify)
    const job = await prepareJob(planned, request, { notify, invocation: process.argv })
    const outcome = await performJob(job, {
      notify,
      signal: control.signal ?? new AbortController().signal,
      watch: ({ job: { dir, plan }, pending, liveStats }) => {
        emit({ kind: 'job-start', dir, trials: plan.length, pending, liveStats })
        return {
          started: ({ name }) => emit({ kind: 'trial-start', trial: name }),
          retrying: (record, waitSec) => emit({ kind: 'trial-retry', record, waitSec }),
          ended: (record) => emit({ kind: 'trial-end', record }),
        }
      },
    })
    const { liveStats, result, stoppedByBudget } = outcome
    return {
      jobDir: outcome.job.dir,
      ends: liveStats.denominators(),
      groups: liveStats.groups(),
      job: result,
      stoppedByBudget,
    }
  })
}
