import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ingest } from '../src/app/registry/ingest.ts'
import { findProgram } from '../src/lib/programs.ts'
import { openRegistry } from '../src/registry/open.ts'
import { leaderboard } from '../src/registry/search.ts'
import { raw } from '../src/registry/sql.ts'
import { startPostgres } from '../test/postgres.ts'
import { makeBigJob, trialOf } from '../test/registry/jobs.ts'
import type { Row } from './lib/rows.ts'

const trials = Number(process.env.TRIALS ?? 20_000)
const goalMs = 200
const runs = 5000
const trialsOfRun = 200

/** Ingests a job on both databases, then asks each for the leaderboard of a million trials. */
export default {
  name: 'registry',
  run: async (): Promise<Row[]> => {
    const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
    try {
      const job = await makeBigJob(join(scratch, 'job'), 'bench', trials, (i) =>
        trialOf({ task: `t${i % 2000}`, attempt: Math.floor(i / 2000), reward: i % 2 }),
      )
      const rows = await measure('a file', job, [join(scratch, 'one.db'), join(scratch, 'two.db')])
      if (findProgram('pg_createcluster') === null) return rows
      const server = await startPostgres()
      try {
        const address = (schema: string) =>
          `postgres://postgres@localhost/postgres?host=${server.dir}&search_path=${schema}`
        await using admin = await openRegistry(address('public'))
        await admin.script('CREATE SCHEMA one; CREATE SCHEMA two')
        return [...rows, ...(await measure('PostgreSQL', job, [address('one'), address('two')]))]
      } finally {
        await server.stop()
      }
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  },
}

async function measure(name: string, job: string, [first, second]: readonly [string, string]): Promise<Row[]> {
  const start = performance.now()
  await ingest({ from: [job], registry: first })
  const sec = (performance.now() - start) / 1000
  await using database = await openRegistry(second)
  await database.script(million)
  const times: number[] = []
  for (let i = 0; i < 5; i++) {
    const before = performance.now()
    const { length } = await leaderboard(database)
    times.push(performance.now() - before)
    if (length !== runs / 5) throw new Error(`expected ${runs / 5} lines, got ${length}`)
  }
  const [{ count } = { count: 0 }] = await countTrials(database)
  const value = times.sort((a, b) => a - b)[2] ?? Number.NaN
  return [
    { name: `trials ingested into ${name}`, value: trials / sec, unit: '/s' },
    {
      name: `leaderboard of ${count / 1e6} million trials in ${name}`,
      value,
      unit: 'ms',
      goal: `under ${goalMs}`,
      ok: value < goalMs,
    },
  ]
}

async function countTrials(database: Awaited<ReturnType<typeof openRegistry>>) {
  const { z } = await import('zod')
  return database.rows(z.object({ count: z.number() }), raw('SELECT count(*) AS count FROM sandbox_trials'))
}

const numbers = (name: string, count: number) =>
  `${name}(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM ${name} WHERE n < ${count})`

/** Five runs of each of 100 models on 10 benchmarks, with their trials, made by the database itself. */
const million = `
INSERT INTO agents (id, name, version, updated_at) VALUES ('a', 'terminus-2', '2', '');
INSERT INTO models (id, name, training_status, updated_at)
  WITH RECURSIVE ${numbers('i', 100)} SELECT 'm' || n, 'org/model-' || n, 'external', '' FROM i;
INSERT INTO benchmarks (id, name, version, updated_at)
  WITH RECURSIVE ${numbers('i', 10)} SELECT 'b' || (n - 1), 'bench-' || n, '', '' FROM i;
INSERT INTO sandbox_tasks (checksum, name, created_at)
  WITH RECURSIVE ${numbers('i', trialsOfRun)} SELECT 't' || n, 'task-' || n, '' FROM i;
INSERT INTO sandbox_jobs (id, source_id, job_name, job_status, agent_id, model_id, benchmark_id, n_trials, n_scored, n_failed,
    accuracy, accuracy_stderr, started_at, created_at, updated_at)
  WITH RECURSIVE ${numbers('i', runs)} SELECT 'j' || n, 's' || n, 'job-' || n, 'finished', 'a', 'm' || (n % 100 + 1), 'b' || (n / 100 % 10),
    ${trialsOfRun}, ${trialsOfRun}, 0, (n % 97) / 97.0, 0.02, '2026-01-01T00:00:00.' || n, '', '' FROM i;
INSERT INTO sandbox_trials (job_id, id, trial_name, task_checksum, attempt, state, reward, retries, started_at, ended_at, created_at)
  WITH RECURSIVE ${numbers('i', trialsOfRun)} SELECT j.id, 'x' || n, 'task-' || n, 't' || n, 0, 'scored', n % 2, 0, '', '', ''
  FROM sandbox_jobs j CROSS JOIN i;
`
