import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadRecipe } from '../../src/app/recipe/load-recipe.ts'
import { performRecipe } from '../../src/app/recipe/perform-recipe.ts'
import { ingest } from '../../src/app/registry/ingest.ts'
import { cleanRegistry, findLeaders, findMatrix, findRuns, findSummaries } from '../../src/app/registry/query.ts'
import { usageOf } from '../../src/core/trial.ts'
import { migrations } from '../../src/registry/migrate.ts'
import { isUrl, openRegistry } from '../../src/registry/open.ts'
import { openPostgresql } from '../../src/registry/postgresql.ts'
import { sql } from '../../src/registry/sql.ts'
import { openSqlite } from '../../src/registry/sqlite.ts'
import { openHarborLayout } from '../../src/store/harbor-layout.ts'
import { makeTempDir } from '../make-task.ts'
import { type Kit, numberOf, onBothDatabases } from './databases.ts'
import { addRecords, finishJob, makeBigJob, makeJob, trialOf } from './jobs.ts'

const later = '2026-11-15T09:00:00.000000Z'

test('an error that makes SQLite roll back by itself is the one reported', async () => {
  await using database = await openSqlite(join(await makeTempDir(), 'registry.db'))
  await database.script('CREATE TABLE rows (text TEXT); PRAGMA max_page_count = 4')
  const rows = [['x'.repeat(1_000_000)]]
  await expect(database.insert({ table: 'rows', columns: ['text'], rows })).rejects.toThrow(/full/)
  await database.run(sql`INSERT INTO rows VALUES ('small')`)
})

test('a statement waits while another process writes to the same file', async () => {
  const path = join(await makeTempDir(), 'registry.db')
  await using mine = await openRegistry(path)
  await using other = await openRegistry(path)
  const run = await other.transaction(async () => {
    const waiting = mine.run(sql`UPDATE models SET name = name`)
    // Longer than the driver itself waits.
    await new Promise((resolve) => setTimeout(resolve, 300))
    return { waiting }
  })
  expect(await run.waiting).toBe(0)
})

onBothDatabases('the registry', (kit: Kit) => {
  const count = (address: string, table: string) => numberOf(address, `SELECT count(*) FROM ${table}`)
  let nth = 0
  const place = () => join(kit.scratch, `job-${++nth}`)

  describe('migrations', () => {
    test('several processes may open a new registry at once, and every change is made once', async () => {
      const registry = await kit.fresh()
      const opened = await Promise.all([1, 2, 3].map(() => openRegistry(registry)))
      for (const database of opened) await database[Symbol.asyncDispose]()
      expect(await count(registry, 'registry_migrations')).toBe(migrations.length)
    })

    test('a registry of a newer version is refused', async () => {
      const registry = await kit.fresh()
      {
        await using database = await openRegistry(registry)
        await database.run(sql`INSERT INTO registry_migrations VALUES ('9999-future', 'now')`)
      }
      await expect(openRegistry(registry)).rejects.toMatchObject({
        name: 'UserError',
        message: expect.stringContaining('9999-future'),
      })
    })

    test('tables that others made are left alone', async () => {
      const registry = await kit.fresh()
      {
        await using database = await (isUrl(registry) ? openPostgresql(registry) : openSqlite(registry))
        await database.script('CREATE TABLE models (id TEXT)')
      }
      await expect(openRegistry(registry)).rejects.toThrow('a table models that ot-agent')
    })
  })

  describe('ingestion of a job', () => {
    test('a trial of several steps has used what its steps used', async () => {
      const registry = await kit.fresh()
      const base = trialOf({ task: 'a' })
      const usage = { inputTokens: 10, cacheTokens: 0, outputTokens: 5, costUsd: 0.5 }
      const nothing = { rewards: null, exit: null, failure: null, metadata: null, agentExecution: null, verifier: null }
      const steps = ['one', 'two'].map((name) => ({ name, usage, ...nothing }))
      const job = await makeJob(place(), { id: 'job-steps', records: [{ ...base, usage: null, steps }] })
      await ingest({ from: [job], registry })
      expect((await findRuns({ registry }, {}))[0]?.cost_usd).toBe(1)
      expect(await numberOf(registry, 'SELECT sum(n_output_tokens) FROM sandbox_trial_model_usage')).toBe(10)
    })

    test('every trial is stored with how it ended, and a second ingestion adds nothing', async () => {
      const registry = await kit.fresh()
      const records = [
        trialOf({ task: 'a', reward: 1 }),
        trialOf({ task: 'a', reward: 0, attempt: 1 }),
        trialOf({ task: 'b', reward: 1 }),
        trialOf({ task: 'b', state: 'failed', attempt: 1, message: 'hostile \0 \ud800 text' }),
        trialOf({ task: 'c', state: 'cancelled' }),
      ]
      const job = await makeJob(place(), { id: 'job-1', records })
      const first = await ingest({ from: [job], registry })
      expect(first.ingested).toMatchObject([
        {
          kind: 'job',
          added: 5,
          runs: [{ agent: 'terminus-2', model: 'org/student', benchmark: 'bench', trials: 5, scored: 3 }],
        },
      ])
      const again = await ingest({ from: [job], registry })
      expect(again.ingested).toMatchObject([{ added: 0, trials: 5 }])
      expect(await count(registry, 'sandbox_jobs')).toBe(1)
      expect(await count(registry, 'sandbox_trial_model_usage')).toBe(5)
      const [run] = await findRuns({ registry }, {})
      // Task a: 1/2; task b: 1. Over all trials: (1/2 + 1/2 + 0) / 3.
      expect(run).toMatchObject({ accuracy: 0.75, accuracy_stderr: 0.25, n_trials: 5, n_scored: 3, n_failed: 1 })
      expect(run?.accuracy_all).toBeCloseTo(1 / 3, 12)
      expect(run?.job_status).toBe('partial')
      expect(await findLeaders({ registry })).toEqual([])
    })

    test('a job learns where its traces are, even later, and odd names of repositories are refused', async () => {
      const registry = await kit.fresh()
      const job = await makeJob(place(), { id: 'job-traces', records: [trialOf({ task: 'a', reward: 1 })] })
      const link = async (traces?: string) => {
        await ingest({ from: [job], registry, traces })
        return (await findRuns({ registry }, {})).map((run) => run.hf_traces_link)
      }
      expect(await link()).toEqual([null])
      expect(await link('mlfoundations/aider-traces_v1.0')).toEqual([
        'https://huggingface.co/datasets/mlfoundations/aider-traces_v1.0',
      ])
      expect(await link()).toEqual(['https://huggingface.co/datasets/mlfoundations/aider-traces_v1.0'])
      expect(await link('http://localhost:8000/traces')).toEqual(['http://localhost:8000/traces'])
      for (const odd of ['traces', 'a/b/c', '../x', 'org/name..git', 'org/na me', '-org/x', 'https://me:secret@host/x'])
        await expect(link(odd), odd).rejects.toMatchObject({ name: 'UserError' })
    })

    test('an ingestion that was interrupted has no result, and the same command finishes it', async () => {
      const registry = await kit.fresh()
      const job = await makeBigJob(place(), 'job-2', 700, (i) => trialOf({ task: `t${i % 70}`, attempt: i }))
      const controller = new AbortController()
      const running = ingest({ from: [job], registry }, { signal: controller.signal })
      await expect(
        (async () => {
          for await (const { trials } of running) if (trials > 0) controller.abort()
          await running
        })(),
      ).rejects.toThrow()
      expect(await findRuns({ registry }, {})).toMatchObject([{ job_status: 'started', accuracy: null }])
      expect(await count(registry, 'sandbox_trials')).toBe(500)
      expect((await ingest({ from: [job], registry })).ingested).toMatchObject([{ added: 200, trials: 700 }])
      expect(await findLeaders({ registry })).toMatchObject([{ accuracy: 1, n_trials: 700, n_tasks: 70 }])
    })

    test('a trial that was run again replaces the earlier one, which stays until it is cleaned', async () => {
      const registry = await kit.fresh()
      const failed = trialOf({ task: 'a', state: 'failed' })
      const job = await makeJob(place(), { id: 'job-3', records: [failed, trialOf({ task: 'b', reward: 1 })] })
      await ingest({ from: [job], registry })
      expect(await findRuns({ registry }, {})).toMatchObject([{ job_status: 'partial', n_failed: 1 }])
      await openHarborLayout(job).retract(failed.name)
      await addRecords(job, [trialOf({ task: 'a', reward: 0, over: { finishedAt: later } })])
      await finishJob(job, 'job-3', 2, later)
      await ingest({ from: [job], registry })
      expect(await findRuns({ registry }, {})).toMatchObject([{ job_status: 'finished', n_failed: 0, accuracy: 0.5 }])
      expect(await count(registry, 'sandbox_trials')).toBe(3)
      expect(await cleanRegistry({ registry }, 0, true)).toEqual({
        abandonedRuns: 0,
        supersededTrials: 1,
        unusedTasks: 0,
      })
      expect(await cleanRegistry({ registry }, 0, false)).toMatchObject({ supersededTrials: 1 })
      expect(await count(registry, 'sandbox_trials')).toBe(2)
    })

    test('a trial that was scored again has cost what it cost, once', async () => {
      const registry = await kit.fresh()
      const trial = trialOf({ task: 'a', reward: 0 })
      const cost = usageOf(trial)?.costUsd ?? 0
      expect(cost).toBeGreaterThan(0)
      const job = await makeJob(place(), { id: 'job-cost', records: [trial] })
      await ingest({ from: [job], registry })
      await openHarborLayout(job).retract(trial.name)
      await addRecords(job, [{ ...trialOf({ task: 'a', reward: 1 }), finishedAt: later }])
      await ingest({ from: [job], registry })
      const [run] = await findRuns({ registry }, {})
      expect(run).toMatchObject({ accuracy: 1, n_trials: 1 })
      expect(run?.cost_usd).toBeCloseTo(cost, 9)
    })

    test('two ingestions of one job at once agree', async () => {
      const registry = await kit.fresh()
      const records = Array.from({ length: 30 }, (_, i) => trialOf({ task: `t${i % 10}`, attempt: i, reward: i % 2 }))
      const job = await makeJob(place(), { id: 'job-4', records })
      const both = await Promise.all([ingest({ from: [job], registry }), ingest({ from: [job], registry })])
      const added = both.flatMap(({ ingested }) => ingested.map((one) => (one.kind === 'job' ? one.added : 0)))
      expect(added.sort((a, b) => a - b)).toEqual([0, 30])
      expect(await findLeaders({ registry })).toMatchObject([{ accuracy: 0.5, n_trials: 30, runs: 1 }])
    })

    test('a job with two models and two benchmarks gives a run for each', async () => {
      const registry = await kit.fresh()
      const records = ['one', 'two'].flatMap((model) =>
        ['x', 'y'].map((benchmark) => trialOf({ task: `${model}-${benchmark}`, model: `p/org/${model}`, benchmark })),
      )
      const job = await makeJob(place(), { id: 'job-5', records })
      await ingest({ from: [job], registry })
      const matrix = await findMatrix({ registry })
      expect(matrix.benchmarks).toEqual(['x', 'y'])
      expect(matrix.models.map(({ name }) => name)).toEqual(['org/one (terminus-2)', 'org/two (terminus-2)'])
      expect(matrix.models.flatMap(({ cells }) => cells.map((cell) => cell?.accuracy))).toEqual([1, 1, 1, 1])
    })

    test('tasks of two pipelines are two benchmarks, although both folders are called tasks', async () => {
      const registry = await kit.fresh()
      const records = ['sales', 'files'].map((output) => {
        const trial = trialOf({ task: output, benchmark: 'tasks' })
        const task = { ...trial.config.task, path: `/data/${output}/tasks/one` }
        return { ...trial, config: { ...trial.config, task } }
      })
      await ingest({ from: [await makeJob(place(), { id: 'job-8', records })], registry })
      expect((await findMatrix({ registry })).benchmarks).toEqual(['files', 'sales'])
    })

    test('a job that Harbor made', async () => {
      const registry = await kit.fresh()
      const { ingested } = await ingest({ from: ['test/fixtures/harbor-job/made-by-harbor'], registry })
      expect(ingested).toMatchObject([{ added: 4, runs: [{ trials: 4, failed: 1, cancelled: 1 }] }])
      expect(await findRuns({ registry }, {})).toMatchObject([{ job_status: 'partial', job_name: 'made-by-harbor' }])
    })

    test('names given by the user win over those of the trials', async () => {
      const registry = await kit.fresh()
      const job = await makeJob(place(), { id: 'job-6', records: [trialOf({ task: 'a' })] })
      await ingest({ from: [job], registry, benchmark: 'mine@2', model: 'org/mine' })
      expect(await findLeaders({ registry })).toMatchObject([
        { benchmark_name: 'mine', benchmark_version: '2', model_name: 'org/mine' },
      ])
      await expect(ingest({ from: [job], registry, benchmark: 'mine@' })).rejects.toThrow('NAME@VERSION')
    })

    test('a directory of jobs is ingested job by job, and what cannot be read is reported', async () => {
      const registry = await kit.fresh()
      const jobs = place()
      await makeJob(join(jobs, 'one'), { id: 'job-7', records: [trialOf({ task: 'a' })] })
      await makeJob(join(jobs, 'two'), { id: 'job-8', records: [trialOf({ task: 'a' })], startedAt: later })
      const result = await ingest({ from: [jobs], registry })
      expect(result).toMatchObject({ ingested: [{ name: 'one' }, { name: 'two' }], broken: [] })
      expect(await findLeaders({ registry })).toMatchObject([{ job_name: 'two', runs: 2 }])
      expect(await findSummaries({ registry }, {})).toMatchObject([{ num_runs: 2, avg_accuracy: 1, max_accuracy: 1 }])
      expect(await findRuns({ registry }, { words: ['ONE'] })).toMatchObject([{ job_name: 'one' }])
      for (const text of ['%', '_', "'; DROP TABLE models; --"])
        expect(await findRuns({ registry }, { words: [text] })).toEqual([])
    })
  })

  test('every output of a recipe becomes a dataset', async () => {
    const registry = await kit.fresh()
    const [dir, one] = [place(), place()]
    const messages = [
      { role: 'user', content: 'Say hello.' },
      { role: 'assistant', content: 'hello' },
    ]
    await mkdir(dir, { recursive: true })
    await writeFile(join(dir, 'rows.jsonl'), `${JSON.stringify({ messages })}\n`.repeat(3))
    const recipe = (name: string, outputs: readonly string[]) => {
      const exporters = outputs.map((id) => ({
        id,
        use: 'exporters/sharegpt',
        from: ['rows'],
        with: { validation: 0 },
      }))
      const stages = [{ id: 'rows', use: 'sources/imported-traces', with: { path: 'rows.jsonl' } }, ...exporters]
      const text = JSON.stringify({ name, stages })
      return writeFile(
        join(dir, `${name}.ts`),
        `import { defineRecipe } from 'ot-agent'\nexport default defineRecipe(${text})`,
      )
    }
    await recipe('twins', ['plain', 'same'])
    await recipe('single', ['plain'])
    for (const [name, out] of [
      ['twins', dir],
      ['single', one],
    ] as const)
      await performRecipe(
        { recipe: await loadRecipe(join(dir, `${name}.ts`), {}), dir: join(out, 'run') },
        { trials: { notify: () => {} }, signal: new AbortController().signal },
      )
    const { ingested } = await ingest({ from: [join(dir, 'run'), join(one, 'run')], registry })
    expect(ingested).toMatchObject([
      { kind: 'dataset', name: 'twins-plain', path: join(dir, 'run/out/plain') },
      { kind: 'dataset', name: 'twins-same', path: join(dir, 'run/out/same') },
      { kind: 'dataset', name: 'single', path: join(one, 'run/out/plain') },
    ])
    expect(await numberOf(registry, "SELECT count(*) FROM datasets WHERE recipe_name = 'twins' AND num_rows = 3")).toBe(
      2,
    )
    const named = ingest({ from: [join(dir, 'run')], registry, name: 'mine' })
    await expect(named).rejects.toThrow('--name: expected a recipe with one output, got 2: plain, same')
  })

  test('the database itself refuses a failure with a reward, and a job without an agent', async () => {
    const registry = await kit.fresh()
    const job = await makeJob(place(), { id: 'job-9', records: [trialOf({ task: 'a', state: 'failed' })] })
    await ingest({ from: [job], registry })
    await using database = await openRegistry(registry)
    await expect(database.run(sql`UPDATE sandbox_trials SET reward = 0`)).rejects.toThrow()
    await expect(database.run(sql`UPDATE sandbox_trials SET boundary = NULL`)).rejects.toThrow()
    await expect(database.run(sql`UPDATE sandbox_jobs SET job_status = 'done'`)).rejects.toThrow()
    await expect(database.run(sql`UPDATE sandbox_jobs SET agent_id = 'none'`)).rejects.toThrow()
  })

  test('a transaction that fails leaves nothing, and the next one works', async () => {
    const registry = await kit.fresh()
    await using database = await openRegistry(registry)
    const insert = sql`INSERT INTO agents (id, name, version, updated_at) VALUES ('1', 'a', '', '')`
    await expect(
      database.transaction(async (queries) => {
        await queries.run(insert)
        throw new Error('stop')
      }),
    ).rejects.toThrow('stop')
    expect(await count(registry, 'agents')).toBe(0)
    await database.transaction((queries) => queries.run(insert))
    expect(await count(registry, 'agents')).toBe(1)
  })
})
