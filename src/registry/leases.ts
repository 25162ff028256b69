import { z } from 'zod'
import { utcNow } from '../lib/time.ts'
import type { Database, Queries } from './database.ts'
import { raw, sql } from './sql.ts'

/** A listener's claim on a model to evaluate, which expires unless renewed. */
export interface Lease {
  readonly modelId: string
  readonly model: string
  readonly benchmarkId: string
  readonly owner: string
  /** How often the model has been taken, including this time. */
  readonly attempt: number
}

/** Queues every trained model without a finished run on the benchmark, plus the models with the ids in `more`. */
export async function queueModels(queries: Queries, benchmarkId: string, more: readonly string[]): Promise<number> {
  const now = await timeOf(queries)
  const trained = await queries.rows(
    z.object({ id: z.string() }),
    sql`SELECT id FROM models m WHERE training_status = 'finished' AND NOT EXISTS (
        SELECT 1 FROM evaluation_leases l WHERE l.model_id = m.id AND l.benchmark_id = ${benchmarkId})
      AND NOT EXISTS (SELECT 1 FROM sandbox_jobs j
        WHERE j.model_id = m.id AND j.benchmark_id = ${benchmarkId} AND j.job_status = 'finished')`,
  )
  const ids = [...new Set([...trained.map(({ id }) => id), ...more])].sort()
  const columns = ['model_id', 'benchmark_id', 'state', 'updated_at']
  const rows = ids.map((id) => [id, benchmarkId, 'waiting', now])
  return queries.insert({ table: 'evaluation_leases', columns, rows })
}

export interface LeaseTerms {
  readonly leaseSec: number
  readonly maxAttempts: number
}

/**
 * Takes a model that is waiting or whose listener died, or returns null if there is none. No two listeners get the same
 * model.
 */
export function takeLease(
  database: Database,
  benchmarkId: string,
  owner: string,
  { leaseSec, maxAttempts }: LeaseTerms,
): Promise<Lease | null> {
  return database.transaction(async (queries) => {
    const now = await timeOf(queries)
    await settleStale(queries, benchmarkId, maxAttempts, now)
    const skipLocked = raw(queries.dialect === 'postgresql' ? 'FOR UPDATE SKIP LOCKED' : '')
    const [taken] = await queries.rows(
      z.object({ model_id: z.string(), attempts: z.number() }),
      sql`UPDATE evaluation_leases SET state = 'running', owner = ${owner}, attempts = attempts + 1,
          leased_until = ${later(now, leaseSec)}, retry_at = NULL, updated_at = ${now}
        WHERE benchmark_id = ${benchmarkId} AND model_id = (
          SELECT model_id FROM evaluation_leases WHERE benchmark_id = ${benchmarkId}
            AND (state = 'waiting' AND (retry_at IS NULL OR retry_at <= ${now}) OR state = 'running' AND leased_until <= ${now})
          ORDER BY updated_at, model_id LIMIT 1 ${skipLocked})
        RETURNING model_id, attempts`,
    )
    if (taken === undefined) return null
    const query = sql`SELECT name FROM models WHERE id = ${taken.model_id}`
    const [model] = await queries.rows(z.object({ name: z.string() }), query)
    return { modelId: taken.model_id, model: model?.name ?? '', benchmarkId, owner, attempt: taken.attempts }
  })
}

/** Closes expired leases: a dead listener may have finished its work, or used up its attempts. */
async function settleStale(queries: Queries, benchmarkId: string, maxAttempts: number, now: string): Promise<void> {
  await queries.run(sql`UPDATE evaluation_leases SET state = 'done', owner = NULL, leased_until = NULL, updated_at = ${now}
    WHERE benchmark_id = ${benchmarkId} AND (state = 'waiting' OR state = 'running' AND leased_until <= ${now})
      AND EXISTS (SELECT 1 FROM sandbox_jobs j WHERE j.model_id = evaluation_leases.model_id
        AND j.benchmark_id = ${benchmarkId} AND j.job_status = 'finished')`)
  await queries.run(sql`UPDATE evaluation_leases SET state = 'failed', owner = NULL, leased_until = NULL,
      reason = 'the listener ended without a result', updated_at = ${now}
    WHERE benchmark_id = ${benchmarkId} AND state = 'running' AND leased_until <= ${now} AND attempts >= ${maxAttempts}`)
}

/** Extends a lease; false if another listener took the model because this one was silent for too long. */
export async function renewLease(database: Database, lease: Lease, leaseSec: number): Promise<boolean> {
  const now = await timeOf(database)
  const renewed = await database.run(sql`UPDATE evaluation_leases
    SET leased_until = ${later(now, leaseSec)}, updated_at = ${now} WHERE ${held(lease)}`)
  return renewed === 1
}

export type LeaseEnd =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly reason: string; readonly retrySec: number | null }
  /** The listener is stopping; the attempt does not count. */
  | { readonly kind: 'released' }

/** Ends a lease; false if it was already lost. A failure with `retrySec` waits that long before its next attempt. */
export async function endLease(database: Database, lease: Lease, end: LeaseEnd): Promise<boolean> {
  const now = await timeOf(database)
  const retrySec = end.kind === 'failed' ? end.retrySec : null
  const state = end.kind === 'done' ? 'done' : end.kind === 'failed' && retrySec === null ? 'failed' : 'waiting'
  const ended = await database.run(sql`UPDATE evaluation_leases SET state = ${state}, owner = NULL, leased_until = NULL,
      attempts = attempts - ${end.kind === 'released' ? 1 : 0}, retry_at = ${retrySec === null ? null : later(now, retrySec)},
      reason = ${end.kind === 'failed' ? end.reason.slice(0, 500) : null}, updated_at = ${now}
    WHERE ${held(lease)}`)
  return ended === 1
}

/** How many models are in each state. */
export async function countLeases(queries: Queries, benchmarkId: string): Promise<Readonly<Record<string, number>>> {
  const rows = await queries.rows(
    z.object({ state: z.string(), count: z.number() }),
    sql`SELECT state, count(*) AS count FROM evaluation_leases WHERE benchmark_id = ${benchmarkId} GROUP BY state`,
  )
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}

function held({ modelId, benchmarkId, owner, attempt }: Lease) {
  return sql`benchmark_id = ${benchmarkId} AND model_id = ${modelId} AND state = 'running'
    AND owner = ${owner} AND attempts = ${attempt}`
}

/** The clock shared by all listeners: the database server's, or that of the one machine that has the file. */
async function timeOf(queries: Queries): Promise<string> {
  if (queries.dialect === 'sqlite') return utcNow()
  const query = raw(`SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS now`)
  const [row] = await queries.rows(z.object({ now: z.string() }), query)
  return row?.now ?? utcNow()
}

function later(now: string, sec: number): string {
  return `${new Date(Date.parse(now) + sec * 1000).toISOString().slice(0, -1)}000Z`
}
