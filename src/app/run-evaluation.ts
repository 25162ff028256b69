import { basename } from 'node:path'
import { UserError } from '../core/errors.ts'
import type { FetchAt } from './datasets/benchmark-tasks.ts'
import { benchmarkRequest } from './eval/benchmark-request.ts'
import { type PreflightCheck, preflight } from './eval/preflight.ts'
import type { EvalReport } from './eval/score-job.ts'
import { smokeTrial } from './eval/smoke-trial.ts'
import { evaluate } from './evaluate.ts'
import { evaluationRetries } from './job/evaluation-retries.ts'
import { modelUseOf } from './job/model-use.ts'
import { planJob } from './job/prepare-job.ts'
import type { TasksRequest } from './job/tasks-request.ts'
import { type RunControl, runTasks, type TasksEvent, type TasksResult } from './run-tasks.ts'
import { Running } from './running.ts'

/** What to evaluate: like `runTasks`, on a benchmark's tasks or on `tasks`. */
export interface EvaluationRequest extends TasksRequest {
  /** A benchmark's name; provides tasks, agent and number of attempts. */
  readonly benchmark?: string | undefined
  /**
   * The largest share of trials that may end in an infrastructure failure (default: 0.05); above it the result is
   * partial.
   */
  readonly maxFailedShare?: number | undefined
  /** How often to rerun trials without a score after the job (default: 1). */
  readonly rounds?: number | undefined
  /** Runs one trial before the job, to find problems early (default: true). */
  readonly smoke?: boolean | undefined
  /** The minimum context length for the model, checked where it is known. */
  readonly minContextTokens?: number | undefined
}

export type EvaluationEvent =
  | TasksEvent
  /** A preflight check that passed. */
  | { readonly kind: 'check'; readonly check: PreflightCheck }
  /** A trial is running before the job; it may take as long as its task allows. */
  | { readonly kind: 'smoke-start' }

export interface EvaluationResult {
  readonly jobDir: string
  readonly checks: readonly PreflightCheck[]
  readonly report: EvalReport
}

export interface EvaluationControl extends RunControl {
  /** Called once with the finished result, complete or partial, so that it can be registered. */
  readonly register?: ((result: EvaluationResult) => Promise<void>) | undefined
}

/**
 * Evaluates a model, like `ot-agent eval run`: checks the server, runs one trial, then the job, then reruns trials
 * without a score, and scores it. The same request with a job name resumes: only trials without a score are run.
 */
export function runEvaluation(
  asked: EvaluationRequest,
  control: EvaluationControl = {},
): Running<EvaluationEvent, EvaluationResult> {
  return new Running(async (emit) => {
    const { benchmark, maxFailedShare, rounds = 1, smoke = true, minContextTokens, ...given } = asked
    const signal = control.signal ?? new AbortController().signal
    const notify = (text: string) => emit({ kind: 'note', text })
    const request = await requestOf(benchmark, given, { fetch: given.fetch ?? false, notify, signal })
    const { config, tasks, adaptive } = await planJob(request, notify, signal)
    const use = modelUseOf(request, adaptive)
    const checks = await preflight(config, { use, minContextTokens, signal })
    for (const check of checks) emit({ kind: 'check', check })
    if (smoke) {
      emit({ kind: 'smoke-start' })
      const check = await smokeTrial(request, { tasks: tasks.length, jobsDir: config.jobsDir }, { signal })
      checks.push(check)
      emit({ kind: 'check', check })
    }
    const { jobDir } = await runRounds(request, rounds, { signal, emit, notify })
    const result = { jobDir, checks, report: await evaluate(jobDir, { maxFailedShare }) }
    await control.register?.(result)
    return result
  })
}

async function requestOf(benchmark: string | undefined, given: TasksRequest, at: FetchAt): Promise<TasksRequest> {
  const hasTasks = given.tasks !== undefined || given.dataset !== undefined || given.jobFile !== undefined
  if (benchmark === undefined && !hasTasks)
    throw new UserError(
      'expected tasks to evaluate on, got none',
      'pass a benchmark with --benchmark, or a folder with -p',
    )
  const retry = { ...given.retry, defaultMax: evaluationRetries }
  if (benchmark === undefined) return { ...given, retry }
  const found = await benchmarkRequest(benchmark, given, at)
  const { tasks } = await planJob(found.request, () => {}, at.signal)
  if (tasks.length !== found.benchmark.tasks)
    at.notify(`running ${tasks.length} of the ${found.benchmark.tasks} tasks of ${found.benchmark.name}`)
  return { ...found.request, retry }
}

interface Follower {
  readonly signal: AbortSignal
  readonly emit: (event: TasksEvent) => void
  readonly notify: (text: string) => void
}

/** Runs the job, then reruns trials without a score until no rounds are left. */
async function runRounds(request: TasksRequest, rounds: number, { signal, emit, notify }: Follower) {
  const follow = async (asked: TasksRequest): Promise<TasksResult> => {
    const run = runTasks(asked, { signal })
    for await (const event of run) emit(event)
    return run
  }
  const isNamed = request.jobName !== undefined
  const resume = { resumeFinished: true, retryUnscored: true }
  let result = await follow({ ...request, ...(isNamed && resume) })
  for (let round = 0; round < rounds; round++) {
    const { failed } = result.ends
    if (failed === 0 || signal.aborted || result.stoppedByBudget) break
    notify(`${failed} of ${result.ends.trials} trials have no score; rerunning those that may get one`)
    result = await follow({ ...request, ...resume, jobName: basename(result.jobDir) })
  }
  return result
}
