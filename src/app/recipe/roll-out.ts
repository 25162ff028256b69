import { basename, dirname } from 'node:path'
import type { Judge } from '../../core/judge.ts'
import type { ModelSettings, RolledOut, RolloutRequest } from '../../core/stage.ts'
import type { Drop } from '../../core/trace.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { rewardOf } from '../../formats/traces/trial-facts.ts'
import { exists } from '../../lib/files.ts'
import { findInputs } from '../../run/traces/find-inputs.ts'
import { readTrials } from '../../run/traces/read-trials.ts'
import { usualForm } from '../export-traces.ts'
import { judgeHint, refuseUnjudged } from '../job/judge.ts'
import { type JobFollower, performJob } from '../job/perform-job.ts'
import { planJob, prepareJob } from '../job/prepare-job.ts'
import type { Notify, TasksRequest } from '../job/tasks-request.ts'
import { traceMaker } from '../traces/trace-maker.ts'
import { budgetLeft } from './budget-left.ts'

/** Settings for all trials of a recipe, and how its caller follows them. */
export interface RolloutAsk {
  readonly notify: Notify
  /** Follows the trials of one rollout, whose progress is reported line by line. */
  readonly watchTrials?: ((tell: (line: string) => void) => JobFollower['watch']) | undefined
  /** Variables of this machine that tasks may use. */
  readonly passEnv?: readonly string[] | undefined
  /** Judges in place of the models that stages name. */
  readonly standInJudge?: Judge | undefined
  /** Discards what interrupted attempts recorded. */
  readonly restartInterrupted?: boolean | undefined
}

/** Runs one trial per task, like `ot-agent run` in the packed layout, and yields the outcome of each. */
export async function* rollOut(request: RolloutRequest, asked: RolloutAsk): AsyncIterable<RolledOut> {
  await runTrials(request, asked)
  if (!(await exists(request.jobDir))) return
  const { inputs } = await findInputs([request.jobDir], false)
  const maker = traceMaker(usualForm)
  for await (const read of readTrials(inputs, maker, request.signal)) {
    const record = 'trial' in read ? read.trial.record : read.record
    const about = { folder: basename(record.task.path), scored: rewardOf(record) }
    for (const made of 'trial' in read ? maker.make(read.trial) : [read]) {
      if ('row' in made) yield { ...made.row, ...about }
      else yield { ...whyNone(record, made.drop), id: record.name, ...about }
    }
  }
}

/** Why a trial has no trace, according to how it ended; an infrastructure failure is never blamed on the agent. */
function whyNone({ end }: TrialRecord, { reason, detail, traceSource }: Drop): { drop: string; detail: string } {
  if (traceSource !== null || end.kind === 'scored') return { drop: reason, detail }
  if (end.kind === 'cancelled') return { drop: 'cancelled', detail }
  const { boundary, code, message } = end.failure
  return { drop: `failed-${boundary}`, detail: `${code}: ${message}` }
}

/** Runs the trials still missing; none if sibling jobs have spent the budget. */
async function runTrials(
  whole: RolloutRequest,
  { notify, watchTrials, standInJudge, ...trials }: RolloutAsk,
): Promise<void> {
  const { tell, signal } = whole
  const judge = whole.judge && (standInJudge ?? whole.judge)
  const budgetUsd = await budgetLeft(whole.budgetUsd, whole.jobDir)
  if (budgetUsd !== undefined && budgetUsd <= 0) return
  const request = { ...jobRequestOf({ ...whole, budgetUsd }), judge, ...trials }
  const planned = await planJob(request, notify)
  await refuseUnjudged(
    (await planned.loadTasks()).map(({ task }) => task),
    judge,
    judgeHint,
  )
  const invocation = ['ot-agent', 'recipe', ...process.argv.slice(3)]
  const job = await prepareJob(planned, request, { notify, invocation })
  await performJob(job, { notify, signal, watch: tell && watchTrials?.(tell) })
  signal.throwIfAborted()
}

function jobRequestOf({ tasksDir, jobDir, agent, model, sandbox, concurrency, ...rest }: RolloutRequest): TasksRequest {
  const engine = model?.engine ?? (model?.apiBase === undefined ? undefined : 'openai-compatible')
  return {
    ...{ tasks: tasksDir, agent, sandbox, concurrency },
    // A job can resume with a model served elsewhere: the address is not part of the job.
    ...(model && {
      model: { model: model.model, engine, options: withFolder(model.options, tasksDir) },
      address: model,
    }),
    jobsDir: dirname(jobDir),
    jobName: basename(jobDir),
    layout: 'packed',
    timeoutMultipliers: { all: rest.timeoutMultiplier },
    verifier: { agentMayModifySystem: rest.agentMayModifySystem },
    budget: { costUsd: rest.budgetUsd },
  }
}

/** Replaces `{tasks}` in options with the tasks' folder, for a stand-in that plays the tasks' own solutions. */
function withFolder(options: ModelSettings['options'], tasksDir: string): ModelSettings['options'] {
  return (
    options &&
    Object.fromEntries(Object.entries(options).map(([key, value]) => [key, value === '{tasks}' ? tasksDir : value]))
  )
}
