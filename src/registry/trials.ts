import { mainReward } from '../core/rewards.ts'
import { type Span, type TrialRecord, usageOf } from '../core/trial.ts'
import { utcNow } from '../lib/time.ts'
import type { Queries } from './database.ts'
import type { Value } from './sql.ts'

/** A trial and the run it belongs to. */
export interface TrialOfRun {
  readonly jobId: string
  readonly benchmarkId: string
  readonly modelId: string | null
  readonly provider: string
  readonly record: TrialRecord
}

/** Longer exception messages are cut; the record on disk keeps the full text. */
const messageLimit = 2000

const trialColumns = [
  'job_id',
  'id',
  'trial_name',
  'task_checksum',
  'attempt',
  'state',
  'reward',
  'rewards',
  'agent_exit',
  'boundary',
  'exception_type',
  'exception_message',
  'retries',
  'started_at',
  'ended_at',
  'environment_setup_started_at',
  'environment_setup_ended_at',
  'agent_setup_started_at',
  'agent_setup_ended_at',
  'agent_execution_started_at',
  'agent_execution_ended_at',
  'verifier_started_at',
  'verifier_ended_at',
  'created_at',
]

/** Adds finished trials with their tasks and usage, and returns how many are new. */
export async function addTrials(queries: Queries, trials: readonly TrialOfRun[]): Promise<number> {
  const now = utcNow()
  await queries.insert({
    table: 'sandbox_tasks',
    columns: ['checksum', 'name', 'source', 'digest', 'path', 'git_url', 'git_commit_id', 'created_at'],
    rows: inOrder(trials.map(({ record }) => taskRow(record, now))),
  })
  await queries.insert({
    table: 'sandbox_benchmark_tasks',
    columns: ['benchmark_id', 'task_checksum'],
    rows: inOrder(trials.map(({ benchmarkId, record }) => [benchmarkId, checksumOf(record)])),
  })
  const added = await queries.insert({
    table: 'sandbox_trials',
    columns: trialColumns,
    rows: trials.map((trial) => trialRow(trial, now)),
  })
  await queries.insert({
    table: 'sandbox_trial_model_usage',
    columns: [
      ...['job_id', 'trial_id', 'model_id', 'model_provider'],
      ...['n_input_tokens', 'n_cache_tokens', 'n_output_tokens', 'cost_usd', 'created_at'],
    ],
    rows: trials.flatMap((trial) => usageRows(trial, now)),
  })
  return added
}

/** Harbor's checksum; a task without one is identified by its digest or name. */
function checksumOf({ task }: TrialRecord): string {
  return task.checksum || task.digest || `name:${task.name}`
}

function taskRow({ task, config, ...record }: TrialRecord, now: string): Value[] {
  const { gitUrl, gitCommitId } = config.task
  const checksum = checksumOf({ task, config, ...record })
  return [checksum, task.name, task.source, task.digest || null, task.path, gitUrl, gitCommitId, now]
}

function trialRow({ jobId, record }: TrialOfRun, now: string): Value[] {
  const { end, spans } = record
  const failure = end.kind === 'failed' ? end.failure : null
  const rewards = end.kind === 'scored' && end.rewards !== null ? end.rewards : null
  return [
    jobId,
    record.id,
    record.name,
    checksumOf(record),
    record.attempt,
    end.kind,
    rewards === null ? null : mainReward(rewards),
    rewards === null ? null : JSON.stringify(rewards),
    end.kind === 'scored' ? (end.exit.kind === 'limit' ? end.exit.limit : end.exit.kind) : null,
    failure?.boundary ?? null,
    failure?.code ?? null,
    failure?.message.slice(0, messageLimit) ?? null,
    record.retries,
    record.startedAt,
    record.finishedAt,
    ...times(spans.environmentSetup),
    ...times(spans.agentSetup),
    ...times(spans.agentExecution),
    ...times(spans.verifier),
    now,
  ]
}

function usageRows({ jobId, modelId, provider, record }: TrialOfRun, now: string): Value[][] {
  const usage = usageOf(record)
  if (modelId === null || usage === null) return []
  return [
    [jobId, record.id, modelId, provider, usage.inputTokens, usage.cacheTokens, usage.outputTokens, usage.costUsd, now],
  ]
}

function times(span: Span | null): [Value, Value] {
  return [span?.startedAt ?? null, span?.finishedAt ?? null]
}

/** Sorts rows so that all writers lock them in the same order and PostgreSQL never deadlocks. */
function inOrder(rows: readonly Value[][]): Value[][] {
  const byKey = new Map(rows.map((row) => [JSON.stringify(row.slice(0, 2)), row]))
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}
