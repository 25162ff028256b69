import { z } from 'zod'
import type { Database, Queries } from './database.ts'
import { type Sql, sql } from './sql.ts'

/** What a clean-up removes, or would remove. */
export interface Garbage {
  /** Runs whose ingestion started before the limit and never finished. */
  readonly abandonedRuns: number
  /** Trials replaced by a later one of the same name. */
  readonly supersededTrials: number
  /** Tasks that no trial, benchmark or dataset references. */
  readonly unusedTasks: number
}

/** Removes what no result needs. With `dryRun`, only counts it. */
export async function collectGarbage(database: Database, before: string, dryRun: boolean): Promise<Garbage> {
  return database.transaction(async (queries) => {
    const work = dryRun ? count : remove
    return {
      abandonedRuns: await work(queries, sql`sandbox_jobs WHERE job_status = 'started' AND updated_at < ${before}`),
      supersededTrials: await work(queries, sql`sandbox_trials WHERE superseded_at < ${before}`),
      unusedTasks: await work(
        queries,
        sql`sandbox_tasks WHERE created_at < ${before}
          AND NOT EXISTS (SELECT 1 FROM sandbox_trials t WHERE t.task_checksum = sandbox_tasks.checksum)
          AND NOT EXISTS (SELECT 1 FROM sandbox_benchmark_tasks t WHERE t.task_checksum = sandbox_tasks.checksum)
          AND NOT EXISTS (SELECT 1 FROM dataset_sources s WHERE s.kind = 'task' AND s.name = sandbox_tasks.checksum)`,
      ),
    }
  })
}

function remove(queries: Queries, of: Sql): Promise<number> {
  return queries.run(sql`DELETE FROM ${of}`)
}

async function count(queries: Queries, of: Sql): Promise<number> {
  const [row] = await queries.rows(z.object({ count: z.number() }), sql`SELECT count(*) AS count FROM ${of}`)
  return row?.count ?? 0
}
