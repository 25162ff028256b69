import { basename, dirname } from 'node:path'
import type { RolledOut, RolloutRequest } from '../../core/stage.ts'
import type { Drop } from '../../core/trace.ts'
import type { TrialRecord } from '../../core/trial.ts'
import type { TraceOptions } from '../../formats/traces/make-traces.ts'
import { rewardOf } from '../../formats/traces/trial-facts.ts'
import { exists } from '../../lib/files.ts'
import { pluginContext } from '../../plugins/make.ts'
import { fingerprintsIn } from '../../run/job/fingerprint.ts'
import { openJob } from '../../run/job/open-job.ts'
import { findInputs } from '../../run/traces/find-inputs.ts'
import { readTrials } from '../../run/traces/read-trials.ts'
import { importDigests } from '../run/configured.ts'
import { askedJob } from '../run/job-document.ts'
import { judgeHint, refuseUnjudged } from '../run/judging.ts'
import { type ModelUse, modelUseOf } from '../run/model-options.ts'
import { runOptions } from '../run/options.ts'
import { resolveTasks } from '../run/resolve-tasks.ts'
import { performJob } from '../run/run-asked-job.ts'
import { withTaskOptions } from '../run/task-options.ts'
import { traceMaker } from '../traces/export.ts'
import { budgetLeft } from './budget-left.ts'

const traceOptions: TraceOptions = {
  form: 'exact',
  reasoning: 'column',
  episodes: 'last',
  filter: 'all',
  subagents: 'separate',
  turns: 'alternate',
  sharegpt: false,
}

/** What the user of a recipe said about all of its trials. */
export interface RolloutAsk {
  /** Variables of this machine that tasks may have. */
  readonly passEnv?: readonly string[] | undefined
  /** Leaves out what interrupted attempts recorded. */
  readonly restartInterrupted?: boolean | undefined
}

/** Runs one trial of each task as `ot-agent run` does, in the packed layout, and gives what became of every one of them. */
export async function* rollOut(request: RolloutRequest, asked: RolloutAsk = {}): AsyncIterable<RolledOut> {
  await runTrials(request, asked)
  if (!(await exists(request.jobDir))) return
  const { inputs } = await findInputs([request.jobDir], false)
  const maker = traceMaker(traceOptions)
  for await (const read of readTrials(inputs, maker, request.signal)) {
    const record = 'trial' in read ? read.trial.record : read.record
    const about = { folder: basename(record.task.path), scored: rewardOf(record) }
    for (const made of 'trial' in read ? maker.make(read.trial) : [read]) {
      if ('row' in made) yield { ...made.row, ...about }
      else yield { ...whyNone(record, made.drop), id: record.name, ...about }
    }
  }
}

/** A trial without a trace is described by its end; an infrastructure failure is never the agent's. */
function whyNone({ end }: TrialRecord, { reason, detail, traceSource }: Drop): { drop: string; detail: string } {
  if (traceSource !== null || end.kind === 'scored') return { drop: reason, detail }
  if (end.kind === 'cancelled') return { drop: 'cancelled', detail }
  const { boundary, code, message } = end.failure
  return { drop: `failed-${boundary}`, detail: `${code}: ${message}` }
}

/** Runs what is not run yet; nothing when the jobs beside it have spent the money. */
async function runTrials(whole: RolloutRequest, { passEnv, restartInterrupted }: RolloutAsk): Promise<void> {
  const budgetUsd = await budgetLeft(whole.budgetUsd, whole.jobDir)
  if (budgetUsd !== undefined && budgetUsd <= 0) return
  const request = { ...whole, budgetUsd }
  const asked = runOptions().exitOverride().parse(wordsOf(request), { from: 'user' }).opts()
  const { config: written, adaptive } = await askedJob(asked, 'local')
  const config = await withTaskOptions(written, asked)
  const tasks = await resolveTasks(config)
  const imports = await importDigests(config)
  const invocation = ['ot-agent', 'recipe', ...process.argv.slice(3)]
  const fingerprint = fingerprintsIn(pluginContext().stateDir)
  const open = () => openJob({ config, fingerprint, named: true, tasks, imports, layout: 'packed', invocation })
  const { tell } = request
  const screen = { write: (text: string) => tell?.(text.trimEnd()) }
  const showing = { quiet: tell === undefined, json: false, screen }
  const { judge } = request
  await refuseUnjudged(
    tasks.map(({ task }) => task),
    judge,
    judgeHint,
  )
  const use = { ...modelUseOf(asked, adaptive), judge, address: addressOf(request) }
  await performJob({ config, tasks, consent: { passEnv }, use, open, restartInterrupted }, showing, request.signal)
  request.signal.throwIfAborted()
}

/** Where the model is, for this run only: the job goes on when it is served elsewhere. */
function addressOf({ model }: RolloutRequest): ModelUse['address'] {
  return {
    ...(model?.apiBase !== undefined && { api_base: model.apiBase }),
    ...(model?.apiKeyEnv !== undefined && { api_key_env: model.apiKeyEnv }),
  }
}

function wordsOf({ tasksDir, jobDir, agent, model, sandbox, concurrency, ...rest }: RolloutRequest): string[] {
  const words: (readonly [string, string | number | undefined])[] = [
    ['--path', tasksDir],
    ['--jobs-dir', dirname(jobDir)],
    ['--job-name', basename(jobDir)],
    ['--agent', agent.name],
    ['--environment', sandbox.name],
    ['--n-concurrent', concurrency],
    ['--model', model?.model],
    ['--engine', model?.engine ?? (model?.apiBase === undefined ? undefined : 'openai-compatible')],
    ['--timeout-multiplier', rest.timeoutMultiplier],
    ['--budget-usd', rest.budgetUsd],
    ...kwargs('--agent-kwarg', agent.options),
    ...kwargs('--environment-kwarg', sandbox.options),
    ...kwargs('--engine-kwarg', withFolder(model?.options, tasksDir)),
  ]
  const given = words.filter(([, value]) => value !== undefined)
  const flags = rest.agentMayModifySystem ? ['--agent-may-modify-system'] : []
  return [...given.map(([flag, value]) => `${flag}=${value}`), ...flags]
}

function kwargs(flag: string, options: Readonly<Record<string, unknown>> = {}): (readonly [string, string])[] {
  return Object.entries(options).map(([key, value]) => [flag, `${key}=${JSON.stringify(value)}`])
}

/** A stand-in that plays the tasks' own solutions finds them where `{tasks}` stands among its options. */
function withFolder(options: Readonly<Record<string, unknown>> = {}, tasksDir: string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(options).map(([key, value]) => [key, value === '{tasks}' ? tasksDir : value]),
  )
}
