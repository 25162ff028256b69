import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exportTraces } from '../../src/app/export-traces.ts'
import { ingest } from '../../src/app/registry/ingest.ts'
import { findLineage, findRuns, querySql } from '../../src/app/registry/query.ts'
import { exportRegistry, importRegistry } from '../../src/app/registry/transfer.ts'
import { Board } from '../../src/app/view/board.ts'
import { openRegistry } from '../../src/registry/open.ts'
import { openPostgresql } from '../../src/registry/postgresql.ts'
import { sql } from '../../src/registry/sql.ts'
import { fixtureFiles } from '../traces.ts'
import { type Kit, numberOf, onBothDatabases } from './databases.ts'
import { makeJob, trialOf } from './jobs.ts'

onBothDatabases('the registry', (kit: Kit) => {
  const place = (name: string) => join(kit.scratch, name)
  const lines = (path: string) => readFileSync(path, 'utf8').trim().split('\n').sort()
  let filled: Promise<string> | undefined
  /** A registry with a job, a dataset and two models; tests only read it. */
  const registryWithAll = () => {
    filled ??= fill(kit)
    return filled
  }

  test('the lineage of a model leads to its dataset, tasks, teacher, job, base model and training run', async () => {
    const registry = await registryWithAll()
    expect(await findLineage({ registry }, 'org/student')).toMatchObject({
      kind: 'model',
      facts: { training_run: '4711', training_status: 'finished', training_type: 'SFT' },
      parents: [
        {
          kind: 'dataset',
          name: 'org/traces',
          facts: { num_rows: 2, num_tasks: 2 },
          parents: [{ kind: 'model', name: 'org/teacher', registered: true }],
          sources: [
            { kind: 'task', count: 2, first: ['org/a', 'org/b'] },
            { kind: 'job', count: 1, first: ['teacher-job'] },
          ],
        },
        { kind: 'dataset', name: 'org/elsewhere', registered: false },
        { kind: 'model', name: 'org/base', facts: { training_status: 'external' } },
      ],
    })
    await expect(findLineage({ registry }, 'org/none')).rejects.toThrow('org/none')
  })

  test('the viewer has the leaderboard of it, and the page of each model', async () => {
    const board = new Board({ registry: await registryWithAll() }, [])
    const { benchmarks, rows } = await board.board(new Map())
    expect(benchmarks.length).toBeGreaterThan(0)
    const cells = rows.flatMap((row) => row.cells.flatMap((cell) => cell ?? []))
    expect(cells.length).toBeGreaterThan(0)
    for (const { accuracy, low, high, job } of cells) {
      expect([low <= accuracy, accuracy <= high, job]).toEqual([true, true, null])
    }
    const model = await board.model('org/student', new Map())
    expect(model).toMatchObject({ name: 'org/student', lineage: { facts: { training_run: '4711' } } })
    await expect(board.model('org/none', new Map())).rejects.toThrow('org/none')
  })

  test('a model that names itself as its base has an end', async () => {
    const registry = await kit.fresh()
    const path = place('circle.json')
    const write = (model: string, base: string) =>
      writeFileSync(path, JSON.stringify({ model_name: model, base_model_name: base }))
    for (const [model, base] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      write(model, base)
      await ingest({ from: [path], registry })
    }
    const found = await findLineage({ registry }, 'a')
    expect(found.parents[0]?.parents[0]).toMatchObject({ name: 'a', parents: [] })
  })

  test('an export holds every row, and an import into an empty registry gives the same export', async () => {
    const registry = await registryWithAll()
    const [out, copy, again] = [place('out.jsonl'), await kit.fresh(), place('again.jsonl')]
    await exportRegistry({ registry }, out, false)
    const { read, added } = await importRegistry({ registry: copy }, out)
    expect({ read, added }).toEqual({ read: lines(out).length - 1, added: lines(out).length - 1 })
    expect(await importRegistry({ registry: copy }, out)).toMatchObject({ added: 0 })
    await exportRegistry({ registry: copy }, again, false)
    expect(lines(again)).toEqual(lines(out))
    await expect(exportRegistry({ registry }, out, false)).rejects.toThrow('nothing there yet')
    await exportRegistry({ registry }, place('csv'), true)
    expect(readdirSync(place('csv'))).toContain('sandbox_trials.csv')
    expect(readFileSync(join(place('csv'), 'models.csv'), 'utf8')).toMatch(/^id,name,.*\n.*org\//)
  })

  test('an import with a wrong line adds nothing', async () => {
    const [out, bad] = [place('whole.jsonl'), place('bad.jsonl')]
    await exportRegistry({ registry: await registryWithAll() }, out, false)
    const cases = {
      'line 2 is not a row': ['{"table":"users","row":[]}'],
      'is not a row of a table': [...readFileSync(out, 'utf8').split('\n').slice(1, 4), '{"table":"agents","row":[1]}'],
      'line 3 is not a row': [readFileSync(out, 'utf8').split('\n')[1], 'no JSON'],
    }
    for (const [message, rest] of Object.entries(cases)) {
      const registry = await kit.fresh()
      writeFileSync(bad, ['{"schema":"registry-export/1"}', ...rest].join('\n'))
      await expect(importRegistry({ registry }, bad)).rejects.toThrow(message)
      expect(await numberOf(registry, 'SELECT (SELECT count(*) FROM datasets) + (SELECT count(*) FROM agents)')).toBe(0)
    }
    writeFileSync(bad, '')
    await expect(importRegistry({ registry: await kit.fresh() }, bad)).rejects.toThrow('empty file')
  })

  describe('sql', () => {
    const rowsOf = async (registry: string, query: string) => {
      const rows: unknown[] = []
      await querySql({ registry }, query, (some) => rows.push(...some))
      return rows
    }

    test('a SELECT gives its rows', async () => {
      const registry = await registryWithAll()
      expect(await rowsOf(registry, '-- which\nSELECT name FROM models ORDER BY name')).toEqual(
        ['org/base', 'org/student', 'org/teacher'].map((name) => ({ name })),
      )
    })

    test.each([
      'DELETE FROM models',
      'WITH gone AS (SELECT 1) DELETE FROM models',
      'WITH gone AS (DELETE FROM models RETURNING 1) SELECT * FROM gone',
      'SELECT 1; DELETE FROM models',
      'EXPLAIN ANALYZE DELETE FROM models',
      'DROP TABLE models',
      'PRAGMA query_only = OFF',
      "ATTACH 'stolen.db' AS stolen",
      "VACUUM INTO 'stolen.db'",
      "COPY models TO '/tmp/stolen'",
      'COMMIT',
      '/* SELECT */ UPDATE models SET name = id',
    ])('%s changes nothing', async (query) => {
      const registry = await registryWithAll()
      await rowsOf(registry, query).catch((error) => expect(error).toMatchObject({ name: 'UserError' }))
      expect(await numberOf(registry, 'SELECT count(*) FROM models')).toBe(3)
      expect(await numberOf(registry, "SELECT count(*) FROM models WHERE name LIKE 'org/%'")).toBe(3)
    })
  })

  test('a registry that is not there is not made by looking for runs', async () => {
    const registry = await kit.fresh()
    if (registry.startsWith('postgres')) expect(await findRuns({ registry }, {})).toEqual([])
    else await expect(findRuns({ registry }, {})).rejects.toThrow('nothing there')
  })

  test('who may do what in PostgreSQL: anon reads public rows, and only service_role writes', async () => {
    const registry = await kit.fresh()
    if (!registry.startsWith('postgres')) return
    const shown = await makeJob(place('public-job'), {
      id: 'public-job',
      records: [trialOf({ task: 'open', model: 'p/org/open', benchmark: 'open' })],
    })
    const hidden = await makeJob(place('private-job'), {
      id: 'private-job',
      records: [trialOf({ task: 'secret', model: 'p/org/secret', benchmark: 'secret' })],
    })
    await ingest({ from: [shown], registry, isPublic: true })
    await ingest({ from: [hidden], registry })
    await using owner = await openRegistry(registry)
    await owner.script(
      `CREATE ROLE reader_${process.pid} LOGIN IN ROLE anon; CREATE ROLE writer_${process.pid} LOGIN IN ROLE service_role`,
    )
    const as = (user: string) => registry.replace('postgres@', `${user}_${process.pid}@`)

    const reader = { registry: as('reader') }
    expect(await findRuns(reader, {})).toMatchObject([{ job_name: 'public-job' }])
    for (const [table, rows] of Object.entries({
      models: 1,
      benchmarks: 1,
      sandbox_trials: 1,
      sandbox_tasks: 1,
      sandbox_trial_model_usage: 1,
      sandbox_benchmark_tasks: 1,
    }))
      expect(await numberOf(as('reader'), `SELECT count(*) FROM ${table}`), table).toBe(rows)
    {
      await using database = await openPostgresql(as('reader'))
      const attempts = [
        sql`INSERT INTO agents (id, name, version, updated_at) VALUES ('x', 'x', '', '')`,
        sql`UPDATE sandbox_jobs SET is_public = 1`,
        sql`UPDATE sandbox_jobs SET accuracy = 1`,
        sql`DELETE FROM sandbox_trials`,
        sql`UPDATE registry_migrations SET name = 'x'`,
        sql`ALTER TABLE models DISABLE ROW LEVEL SECURITY`,
        sql`DROP POLICY models_public_rows ON models`,
        sql`GRANT service_role TO anon`,
        sql`SET ROLE service_role`,
        sql`TRUNCATE sandbox_jobs CASCADE`,
      ]
      for (const attempt of attempts)
        await expect(database.run(attempt), attempt.parts[0]).rejects.toThrow(
          /permission denied|must be owner|must have admin/,
        )
    }
    await expect(ingest({ from: [hidden], ...reader })).rejects.toMatchObject({
      name: 'UserError',
      message: expect.stringContaining('may not do this'),
    })

    const writer = { registry: as('writer') }
    expect(await findRuns(writer, {})).toHaveLength(2)
    expect((await ingest({ from: [hidden], isPublic: true, ...writer })).ingested).toMatchObject([{ added: 0 }])
    expect(await findRuns(reader, {})).toHaveLength(2)
  })
})

async function fill(kit: Kit): Promise<string> {
  const registry = await kit.fresh()
  const of = (task: string) => trialOf({ task, model: 'hosted_vllm/org/teacher' })
  const job = await makeJob(join(kit.scratch, 'teacher-job'), { id: 'teacher-job', records: [of('a'), of('b')] })
  for (const trial of ['a__0', 'b__0']) {
    mkdirSync(join(job, trial, 'agent'), { recursive: true })
    const [file] = fixtureFiles(readdirSync('test/fixtures/traces').sort()[0] ?? '').filter(
      ({ name }) => name === 'trajectory.json',
    )
    const text = String(file && Buffer.from(file.bytes)).replaceAll('openai/gpt-x', 'hosted_vllm/org/teacher')
    writeFileSync(join(job, trial, 'agent', 'trajectory.json'), text)
  }
  const traces = join(kit.scratch, 'traces')
  await exportTraces({ from: job, out: traces, form: 'readable' })
  const summary = join(kit.scratch, 'run_summary.json')
  writeFileSync(
    summary,
    JSON.stringify({
      model_name: 'org/student',
      base_model_name: 'org/base',
      dataset_name: 'org/traces, org/elsewhere',
      training_type: 'SFT',
      training_start: '2026-11-15T00:00:00Z',
      training_end: '2026-11-15T01:00:00Z',
      exit_status: 0,
      runs: [{ job_id: '4711' }],
    }),
  )
  await ingest({ from: [job], registry })
  await ingest({ from: [traces], registry, name: 'org/traces' })
  await ingest({ from: [summary], registry })
  return registry
}
