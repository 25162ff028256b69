import { z } from 'zod'
import type { EvalStats, JobResult, JobStats } from '../../core/job-stats.ts'
import { float, floatOrNull, pythonFloat, renderLocal, renderPythonJson } from './python-json.ts'
import { parseConfig, readJsonDocument } from './read-config.ts'
import { time, timeOrNull } from './trial-result-schema.ts'

/** The text of a job's result.json, Harbor's keys in Harbor's order. */
export function renderJobResult(result: JobResult): string {
  const { stats } = result
  return renderPythonJson({
    id: result.id,
    started_at: renderLocal(result.startedAt),
    updated_at: result.updatedAt && renderLocal(result.updatedAt),
    finished_at: result.finishedAt && renderLocal(result.finishedAt),
    n_total_trials: result.totalTrials,
    stats: {
      n_completed_trials: stats.completed,
      n_errored_trials: stats.errored,
      n_running_trials: stats.running,
      n_pending_trials: stats.pending,
      n_cancelled_trials: stats.cancelled,
      n_retries: stats.retries,
      evals: mapValues(stats.evals, evalDocument),
      n_input_tokens: stats.inputTokens,
      n_cache_tokens: stats.cacheTokens,
      n_output_tokens: stats.outputTokens,
      cost_usd: floatOrNull(stats.costUsd),
    },
  })
}

function evalDocument(stats: EvalStats): object {
  return {
    n_trials: stats.trials,
    n_errors: stats.errors,
    metrics: stats.metrics.map((metric) => mapValues(metric, float)),
    pass_at_k: new Map([...stats.passAtK].map(([k, value]) => [String(k), float(value)])),
    reward_stats: mapValues(
      stats.rewardStats,
      (byValue) => new Map([...byValue].map(([value, names]) => [pythonFloat(value), names])),
    ),
    exception_stats: stats.exceptionStats,
  }
}

function mapValues<A, B>(map: ReadonlyMap<string, A>, change: (value: A) => B): Map<string, B> {
  return new Map([...map].map(([key, value]) => [key, change(value)]))
}

const count = z.int().optional()
const counts = {
  n_completed_trials: count,
  n_errored_trials: count,
  n_running_trials: count,
  n_pending_trials: count,
  n_cancelled_trials: count,
  n_retries: count,
}
const tokens = z.number().nullable().default(null)
const names = z.array(z.string())

const evalSchema = z
  .object({
    n_trials: z.int().default(0),
    n_errors: z.int().default(0),
    metrics: z.array(z.record(z.string(), z.unknown())).default([]),
    pass_at_k: z.record(z.string(), z.number()).default({}),
    reward_stats: z.record(z.string(), z.record(z.string(), names)).default({}),
    exception_stats: z.record(z.string(), names).default({}),
  })
  .transform(
    (raw): EvalStats => ({
      trials: raw.n_trials,
      errors: raw.n_errors,
      metrics: raw.metrics.map(
        (metric) =>
          new Map(Object.entries(metric).filter((entry): entry is [string, number] => typeof entry[1] === 'number')),
      ),
      passAtK: new Map(Object.entries(raw.pass_at_k).map(([k, value]) => [Number(k), value])),
      rewardStats: new Map(
        Object.entries(raw.reward_stats).map(([key, byValue]) => [
          key,
          new Map(Object.entries(byValue).map(([value, list]) => [Number(value), list])),
        ]),
      ),
      exceptionStats: new Map(Object.entries(raw.exception_stats)),
    }),
  )

const statsSchema = z.object({
  ...counts,
  n_trials: count,
  n_errors: count,
  evals: z.record(z.string(), evalSchema).default({}),
  n_input_tokens: tokens,
  n_cache_tokens: tokens,
  n_output_tokens: tokens,
  cost_usd: tokens,
})

const resultSchema = z
  .object({
    id: z.string(),
    started_at: time,
    updated_at: timeOrNull,
    finished_at: timeOrNull,
    n_total_trials: z.int(),
    status: z.object({ ...counts, updated_at: timeOrNull }).optional(),
    stats: statsSchema,
  })
  .transform(
    (raw): JobResult => ({
      id: raw.id,
      startedAt: raw.started_at,
      updatedAt: raw.updated_at ?? raw.status?.updated_at ?? raw.finished_at ?? raw.started_at,
      finishedAt: raw.finished_at,
      totalTrials: raw.n_total_trials,
      stats: toStats(raw.stats, raw.status ?? {}, raw.n_total_trials),
    }),
  )

type RawCounts = { readonly [K in keyof typeof counts]?: number | undefined }

/** Older Harbor used `stats.n_trials` and a separate `status`; the pending count follows from the rest. */
function toStats(raw: z.output<typeof statsSchema>, status: RawCounts, total: number): JobStats {
  const completed = raw.n_completed_trials ?? raw.n_trials ?? status.n_completed_trials ?? 0
  const running = raw.n_running_trials ?? status.n_running_trials ?? 0
  return {
    completed,
    errored: raw.n_errored_trials ?? raw.n_errors ?? status.n_errored_trials ?? 0,
    running,
    pending: raw.n_pending_trials ?? status.n_pending_trials ?? Math.max(total - completed - running, 0),
    cancelled: raw.n_cancelled_trials ?? status.n_cancelled_trials ?? 0,
    retries: raw.n_retries ?? status.n_retries ?? 0,
    evals: new Map(Object.entries(raw.evals)),
    inputTokens: raw.n_input_tokens,
    cacheTokens: raw.n_cache_tokens,
    outputTokens: raw.n_output_tokens,
    costUsd: raw.cost_usd,
  }
}

/** Parses a job's result.json, ours or that of any Harbor version. */
export function parseJobResult(text: string, path = 'result.json'): JobResult {
  const hint = 'a job result has the keys of a Harbor job result.json'
  return parseConfig(resultSchema, readJsonDocument(text, path), path, hint).value
}
