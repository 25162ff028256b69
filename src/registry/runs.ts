import { z } from 'zod'
import { utcNow } from '../lib/time.ts'
import type { Queries } from './database.ts'
import { idOf, type NamedVersion, registerAgent, registerBenchmark, registerModel } from './entities.ts'
import { sql } from './sql.ts'

/** The trials of a job with one agent, model and benchmark: one line of a leaderboard. */
export interface NewRun {
  /** The id that the job itself carries. */
  readonly sourceId: string
  readonly jobName: string
  readonly agent: NamedVersion
  readonly model: string | null
  readonly benchmark: NamedVersion
  readonly location: string
  readonly username: string | null
  readonly packageVersion: string | null
  /** Harbor's config.json, without secrets. */
  readonly config: string
  readonly attempts: number
  readonly startedAt: string
  readonly isPublic: boolean
  /** Where its traces can be read; null keeps the known link. */
  readonly tracesLink: string | null
}

export interface Run {
  readonly jobId: string
  readonly benchmarkId: string
  readonly modelId: string | null
}

/** Registers a run, which starts without results. An existing run is left unchanged. */
export async function startRun(queries: Queries, run: NewRun): Promise<Run> {
  const agentId = await registerAgent(queries, run.agent)
  const benchmarkId = await registerBenchmark(queries, run.benchmark, run.isPublic)
  const modelId = run.model === null ? null : await registerModel(queries, run.model, run.isPublic)
  const jobId = idOf('run', run.sourceId, agentId, modelId ?? '', benchmarkId)
  const now = utcNow()
  await queries.insert({
    table: 'sandbox_jobs',
    columns: [
      ...['id', 'source_id', 'job_name', 'job_status', 'agent_id', 'model_id', 'benchmark_id', 'location', 'username'],
      ...['package_version', 'config', 'n_attempts', 'started_at', 'is_public', 'created_at', 'updated_at'],
    ],
    rows: [
      [
        ...[jobId, run.sourceId, run.jobName, 'started', agentId, modelId, benchmarkId, run.location, run.username],
        ...[run.packageVersion, run.config, run.attempts, run.startedAt, Number(run.isPublic), now, now],
      ],
    ],
  })
  if (run.isPublic) await queries.run(sql`UPDATE sandbox_jobs SET is_public = 1 WHERE id = ${jobId}`)
  if (run.tracesLink !== null)
    await queries.run(sql`UPDATE sandbox_jobs SET hf_traces_link = ${run.tracesLink} WHERE id = ${jobId}`)
  return { jobId, benchmarkId, modelId }
}

export interface RunEnd {
  readonly endedAt: string | null
  /** How many trials the job planned; null if unknown. */
  readonly expected: number | null
  /** Whether the job itself has finished. */
  readonly finished: boolean
}

/** A run with a larger share of failed trials is partial and gets no rank. */
const failedShareLimit = 0.1

const count = z.coerce.number()
const taskRow = z.object({ trials: count, scored: count, failed: count, cancelled: count, sum: z.number().nullable() })

/** Computes the results of a run from its trials, and marks trials superseded by a later one of the same name. */
export async function finishRun(queries: Queries, jobId: string, end: RunEnd): Promise<RunResult> {
  const now = utcNow()
  await queries.run(sql`UPDATE sandbox_trials SET superseded_at = ${now} WHERE job_id = ${jobId} AND id IN (
    SELECT id FROM (
      SELECT id, row_number() OVER (PARTITION BY trial_name ORDER BY ended_at DESC, id DESC) AS nth
      FROM sandbox_trials WHERE job_id = ${jobId} AND superseded_at IS NULL
    ) numbered WHERE nth > 1)`)
  const tasks = await queries.rows(
    taskRow,
    sql`SELECT count(*) AS trials, count(reward) AS scored, sum(CASE WHEN state = 'failed' THEN 1 ELSE 0 END) AS failed,
      sum(CASE WHEN state = 'cancelled' THEN 1 ELSE 0 END) AS cancelled, sum(reward) AS sum
    FROM sandbox_trials WHERE job_id = ${jobId} AND superseded_at IS NULL GROUP BY task_checksum`,
  )
  const score = scoreOf(tasks)
  const [{ cost } = { cost: null }] = await queries.rows(
    z.object({ cost: z.number().nullable() }),
    sql`SELECT sum(u.cost_usd) AS cost FROM sandbox_trial_model_usage u
      JOIN sandbox_trials t ON t.job_id = u.job_id AND t.id = u.trial_id
      WHERE u.job_id = ${jobId} AND t.superseded_at IS NULL`,
  )
  const whole = end.finished && score.cancelled === 0 && (end.expected ?? 0) <= score.trials
  const status = whole && score.failed <= score.trials * failedShareLimit ? 'finished' : 'partial'
  await queries.run(sql`UPDATE sandbox_jobs SET job_status = ${status}, ended_at = ${end.endedAt},
    n_expected = ${end.expected}, n_tasks = ${tasks.length}, n_trials = ${score.trials}, n_scored = ${score.scored},
    n_failed = ${score.failed}, n_cancelled = ${score.cancelled}, accuracy = ${score.accuracy},
    accuracy_stderr = ${score.stderr}, accuracy_all = ${score.accuracyAll}, cost_usd = ${cost}, updated_at = ${now}
    WHERE id = ${jobId}`)
  return { ...score, status }
}

export interface RunResult extends RunScore {
  readonly status: 'finished' | 'partial'
}

interface RunScore {
  readonly trials: number
  readonly scored: number
  readonly failed: number
  readonly cancelled: number
  /** The mean over tasks of each task's mean reward, over scored trials only; null if there are none. */
  readonly accuracy: number | null
  /** Computed from the spread between tasks; null with fewer than two. */
  readonly stderr: number | null
  /** The same mean with every trial without a reward counted as 0. */
  readonly accuracyAll: number | null
}

function scoreOf(tasks: readonly z.output<typeof taskRow>[]): RunScore {
  const total = (key: 'trials' | 'scored' | 'failed' | 'cancelled') => tasks.reduce((sum, task) => sum + task[key], 0)
  const means = tasks.filter(({ scored }) => scored > 0).map(({ sum, scored }) => (sum ?? 0) / scored)
  const accuracy = mean(means)
  const squares = means.reduce((sum, value) => sum + (value - (accuracy ?? 0)) ** 2, 0)
  return {
    trials: total('trials'),
    scored: total('scored'),
    failed: total('failed'),
    cancelled: total('cancelled'),
    accuracy,
    stderr: means.length < 2 ? null : Math.sqrt(squares / (means.length - 1) / means.length),
    accuracyAll: mean(tasks.map(({ sum, trials }) => (sum ?? 0) / trials)),
  }
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}
