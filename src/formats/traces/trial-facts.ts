import type { Rewards } from '../../core/rewards.ts'
import type { TraceFacts } from '../../core/trace.ts'
import { type TrialRecord, usageOf } from '../../core/trial.ts'
import { exceptionOf } from '../../core/trial-exception.ts'
import { pythonFloat } from '../harbor-job/python-json.ts'
import type { TraceRow } from './row.ts'

/**
 * The exception's name, else the reward as Python prints it, else null. An agent that ran out of time has an exception
 * whatever its score.
 */
export function resultOf(record: TrialRecord): string | null {
  const exception = exceptionOf(record)
  if (exception) return exception.type
  const reward = rewardOf(record)
  return reward === null ? null : pythonFloat(reward)
}

/** Solved without an exception. */
export function isSuccess(record: TrialRecord): boolean {
  return exceptionOf(record) === null && (rewardOf(record) ?? 0) > 0
}

/** The reward called `reward`, or the only one; null if neither exists. */
export function rewardOf({ end }: TrialRecord): number | null {
  return end.kind === 'scored' && end.rewards !== null ? mainReward(end.rewards) : null
}

function mainReward(rewards: Rewards): number | null {
  const values = Object.values(rewards)
  if (Object.hasOwn(rewards, 'reward')) return rewards.reward ?? null
  return values.length === 1 ? (values[0] ?? null) : null
}

type FromRecord = Pick<
  TraceRow,
  | 'agent'
  | 'model'
  | 'model_provider'
  | 'date'
  | 'task'
  | 'run_id'
  | 'trial_name'
  | 'result'
  | 'task_digest'
  | 'task_checksum'
  | 'attempt'
  | 'reward'
  | 'end'
  | 'exit'
  | 'boundary'
  | 'input_tokens'
  | 'output_tokens'
  | 'cost_usd'
  | 'source'
>

/** The columns that are filled from a trial's record alone. */
export function columnsFromRecord(record: TrialRecord): FromRecord {
  const { end, config } = record
  const usage = usageOf(record)
  const given = record.agent.model ?? config.agent.modelName ?? 'unknown-model'
  const slash = given.indexOf('/')
  return {
    agent: config.agent.name ?? record.agent.name,
    model: given.slice(slash + 1),
    model_provider: slash < 0 ? 'unknown-provider' : given.slice(0, slash),
    date: record.startedAt,
    task: record.task.name,
    run_id: config.jobId ?? record.name,
    trial_name: record.name,
    result: resultOf(record),
    task_digest: record.task.digest || null,
    task_checksum: record.task.checksum || null,
    attempt: whole(record.attempt, 2 ** 31 - 1),
    reward: rewardOf(record),
    end: end.kind,
    exit: end.kind !== 'scored' ? null : end.exit.kind === 'limit' ? end.exit.limit : end.exit.kind,
    boundary: end.kind === 'failed' ? end.failure.boundary : null,
    input_tokens: whole(usage?.inputTokens),
    output_tokens: whole(usage?.outputTokens),
    cost_usd: usage?.costUsd ?? null,
    source: record.task.source,
  }
}

/** How many changed system files a row lists. */
const listedFiles = 20

/** What an agent changed in the system its tests run in, over a trial or one step. */
export function systemColumns(
  record: TrialRecord,
  step: string | null,
): Pick<TraceRow, 'system_effect' | 'system_changes'> {
  const { system } = record.steps?.find(({ name }) => name === step) ?? record
  if (system === undefined) return { system_effect: null, system_changes: [] }
  const files = system.restored.files.slice(0, listedFiles)
  return {
    system_effect: system.differ ? 'differ' : 'same',
    system_changes: files.map(({ path, change }) => ({ path, change })),
  }
}

/** A count that fits an integer column; null for anything else, because a record may be untrusted. */
export function whole(count: number | null | undefined, most = Number.MAX_SAFE_INTEGER): number | null {
  return typeof count === 'number' && Number.isInteger(count) && Math.abs(count) <= most ? count : null
}

type FactColumn =
  | 'job'
  | 'trial_name'
  | 'task'
  | 'agent'
  | 'model'
  | 'trace_source'
  | 'result'
  | 'reward'
  | 'end'
  | 'exit'
  | 'boundary'
  | 'turns'
  | 'input_tokens'
  | 'output_tokens'
  | 'cost_usd'
  | 'prompt_digest'
  | 'step'
  | 'system_effect'

/** The facts of a row that statistics use. */
export function factsOfRow(row: Pick<TraceRow, FactColumn>): TraceFacts {
  return {
    job: row.job,
    trial: row.trial_name,
    task: row.task,
    agent: row.agent,
    model: row.model,
    traceSource: row.trace_source,
    result: row.result,
    reward: row.reward,
    end: row.end,
    exit: row.exit,
    boundary: row.boundary,
    turns: row.turns,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    costUsd: row.cost_usd,
    promptDigest: row.prompt_digest,
    step: row.step,
    systemEffect: row.system_effect,
  }
}

/** The same for a trial without a trace. */
export function factsOfTrial(record: TrialRecord, job: string): TraceFacts {
  const effects = [record, ...(record.steps ?? [])].flatMap(({ system }) => (system ? [system.differ] : []))
  const system_effect = effects.length === 0 ? null : effects.includes(true) ? 'differ' : 'same'
  const none = { trace_source: '', turns: 0, prompt_digest: '', step: null }
  const facts = factsOfRow({ ...columnsFromRecord(record), ...none, job, system_effect })
  return { ...facts, traceSource: null, turns: null, promptDigest: null }
}
