import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exportTraces } from '../../src/app/export-traces.ts'
import { dropEntry, type EntryKind, editEntry } from '../../src/app/registry/entries.ts'
import { ingest } from '../../src/app/registry/ingest.ts'
import {
  findLeaders,
  findLineage,
  findMatrix,
  findRuns,
  findSummaries,
  querySql,
} from '../../src/app/registry/query.ts'
import { exportRegistry, importRegistry } from '../../src/app/registry/transfer.ts'
import { Board } from '../../src/app/view/board.ts'
import type { Ancestor } from '../../src/core/view-board.ts'
import { addSources, registerDataset, registerTrainedModel } from '../../src/registry/entities.ts'
import { openRegistry } from '../../src/registry/open.ts'
import { openPostgresql } from '../../src/registry/postgresql.ts'
import { sql } from '../../src/registry/sql.ts'
import { openHarborLayout } from '../../src/store/harbor-layout.ts'
import { fixtureFiles } from '../traces.ts'
import { type Kit, numberOf, onBothDatabases } from './databases.ts'
import { addRecords, makeJob, trialOf } from './jobs.ts'

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
      facts: {
        ...{ training_run: '4711', training_status: 'finished', training_type: 'SFT' },
        ...{ weights_location: 'org/student', wandb_link: 'https://wandb.ai/team/agents/runs/a1' },
      },
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

  test('runs are found by words of their names, and left out by others, in every view', async () => {
    const registry = await kit.fresh()
    for (const [id, model] of [
      ['first', 'org/student-8b'],
      ['second', 'org/student-32b'],
      ['third', 'org/other'],
      ['fourth', null],
    ] as const) {
      const from = await makeJob(place(`words-${id}`), { id, records: [trialOf({ task: 'a', model })] })
      await ingest({ from: [from], registry })
    }
    const jobs = async (filter: object) => (await findRuns({ registry }, filter)).map(({ job_name }) => job_name).sort()
    expect(await jobs({ words: ['STUDENT'] })).toEqual(['words-first', 'words-second'])
    expect(await jobs({ words: ['student', 'first'] })).toEqual(['words-first'])
    expect(await jobs({ exclude: ['student'] })).toEqual(['words-fourth', 'words-third'])
    expect(await jobs({ words: ['org/'], exclude: ['32b', 'other'] })).toEqual(['words-first'])
    expect(await jobs({ exclude: ['%'] })).toHaveLength(4)
    const umlaut = await makeJob(place('words-ÄPFEL'), { id: 'fifth', records: [trialOf({ task: 'a', model: null })] })
    await ingest({ from: [umlaut], registry })
    expect(await jobs({ words: ['ÄPFEL'] })).toEqual(['words-ÄPFEL'])
    const filter = { words: ['org/'], exclude: ['32b'] }
    const names = ['org/other', 'org/student-8b']
    expect((await findLeaders({ registry }, filter)).map(({ model_name }) => model_name).sort()).toEqual(names)
    expect((await findSummaries({ registry }, filter)).map(({ model_name }) => model_name)).toEqual(names)
    expect((await findMatrix({ registry }, filter)).models.map(({ name }) => name)).toEqual(
      names.map((name) => `${name} (terminus-2)`),
    )
  })

  test('one entry is changed or removed by its name, and what others need stays', async () => {
    const registry = await fill(kit, place('entries'))
    const edit = (kind: EntryKind, name: string, ...set: string[]) => editEntry({ registry }, kind, name, set)
    const remove = (kind: EntryKind, name: string, dryRun = false) => dropEntry({ registry }, kind, name, dryRun)
    const count = (table: string) => numberOf(registry, `SELECT count(*) FROM ${table}`)
    await edit('model', 'org/student', 'weights_location=org/new', 'description=a = b', 'wandb_link=null')
    expect((await findLineage({ registry }, 'org/student')).facts).toMatchObject({ weights_location: 'org/new' })
    const kept = `FROM models WHERE description = 'a = b' AND wandb_link IS NULL AND is_public = 0`
    expect(await numberOf(registry, `SELECT count(*) ${kept}`)).toBe(1)
    await edit('dataset', 'org/traces', 'num_rows=7', 'is_public=true', 'generation_parameters={"a":1}')
    const changed = `FROM datasets WHERE num_rows = 7 AND is_public = 1 AND generation_parameters = '{"a":1}'`
    expect(await numberOf(registry, `SELECT count(*) ${changed}`)).toBe(1)
    for (const [set, message] of [
      ['num_rows=many', 'expected a whole number'],
      ['num_row=1', 'expected a column of a dataset'],
      ['name=x', 'expected a column of a dataset'],
      ['dataset_type=null', 'expected one of tasks, SFT, RL'],
      ['is_public=1', 'expected true or false'],
      ['generation_parameters={', 'expected JSON'],
      ['num_rows', 'expected COLUMN=VALUE'],
    ] as const)
      await expect(edit('dataset', 'org/traces', 'num_tasks=99', set)).rejects.toThrow(message)
    expect(await numberOf(registry, 'SELECT count(*) FROM datasets WHERE num_tasks = 99')).toBe(0)
    await expect(edit('dataset', 'org/traces')).rejects.toThrow('expected --set')
    await expect(edit('dataset', "org/traces' OR '1'='1", 'num_tasks=1')).rejects.toThrow('has no dataset')
    await expect(remove('model', 'org/teacher')).rejects.toThrow(/1 runs refer to it/)
    await expect(remove('model', 'org/base')).rejects.toThrow(/1 models that were trained from it/)
    const trials = await count('sandbox_trials')
    expect(await remove('run', 'teacher-job', true)).toMatchObject({ parts: { trials } })
    expect(await count('sandbox_trials')).toBe(trials)
    await remove('run', 'teacher-job')
    expect([await count('sandbox_trials'), await count('sandbox_trial_model_usage')]).toEqual([0, 0])
    await remove('model', 'org/teacher')
    await remove('dataset', 'org/traces')
    expect([await count('datasets'), await count('dataset_sources')]).toEqual([0, 0])
    await expect(remove('dataset', 'org/traces')).rejects.toThrow('has no dataset "org/traces"')
  })

  test('a name with several versions needs one of them', async () => {
    const registry = await kit.fresh()
    for (const version of ['1.0', '2.0']) {
      const from = await makeJob(place(`version-${version}`), { id: `v${version}`, records: [trialOf({ task: 'a' })] })
      await ingest({ from: [from], registry, benchmark: `bench@${version}` })
    }
    const set = ['description=old']
    await expect(editEntry({ registry }, 'benchmark', 'bench', set)).rejects.toMatchObject({
      message: '"bench" is the name of more than one benchmark',
      hint: 'use one of these: bench@1.0, bench@2.0',
    })
    expect(await editEntry({ registry }, 'benchmark', 'bench@1.0', set)).toMatchObject({ name: 'bench@1.0' })
    expect(await numberOf(registry, `SELECT count(*) FROM benchmarks WHERE description = 'old'`)).toBe(1)
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

  test('a lineage with very many ways to one model follows it once', async () => {
    const registry = await kit.fresh()
    {
      await using database = await openRegistry(registry)
      await database.transaction(async (queries) => {
        const known = { tasks: null, rows: null, recipeName: null, recipeDigest: null, hash: null, parameters: null }
        const unknown = { location: null, createdBy: null, createdAt: null, commit: null }
        for (let level = 0; level < 12; level++) {
          const datasets = ['x', 'y', 'z'].map((side) => `d${level}${side}`)
          for (const name of datasets) {
            const id = await registerDataset(queries, { name, type: 'SFT', ...known, ...unknown }, false)
            await addSources(queries, id, [['model', `m${level}`]])
          }
          const model = { name: `m${level + 1}`, baseModel: null, datasets, agent: null, trainingType: null } as const
          const run = { status: 'finished', run: null, startedAt: null, endedAt: null, parameters: null } as const
          const places = { createdBy: null, weightsLocation: null, wandbLink: null }
          await registerTrainedModel(queries, { ...model, ...run, ...places }, false)
        }
      })
    }
    const size = ({ parents }: Ancestor): number => parents.reduce((sum, parent) => sum + size(parent), 1)
    const found = await findLineage({ registry }, 'm12')
    expect(size(found)).toBeLessThan(100)
    expect(found.parents[1]?.parents[0]).toMatchObject({ name: 'm11', registered: true, facts: { shown: 'above' } })
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
    await expect(exportRegistry({ registry }, out, false)).rejects.toThrow('expected a new path')
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
    const rows = [
      { table: 'agents', row: ['id', null, 'version', null, 'now'] },
      { table: 'sandbox_benchmark_tasks', row: ['no such benchmark', 'no such task'] },
    ]
    for (const row of rows) {
      writeFileSync(bad, ['{"schema":"registry-export/1"}', JSON.stringify(row)].join('\n'))
      await expect(importRegistry({ registry: await kit.fresh() }, bad), row.table).rejects.toMatchObject({
        name: 'UserError',
        message: expect.stringMatching(/bad\.jsonl: a row is not valid: .+/),
      })
    }
  })

  test('an import finishes a run of which only a part was there', async () => {
    const [mine, others, out] = [await kit.fresh(), await kit.fresh(), place('grown.jsonl')]
    const failed = trialOf({ task: 'a', state: 'failed' })
    const job = await makeJob(place('grown'), { id: 'grown', records: [failed, trialOf({ task: 'b', reward: 1 })] })
    for (const registry of [mine, others]) await ingest({ from: [job], registry })
    await openHarborLayout(job).retract(failed.name)
    await addRecords(job, [trialOf({ task: 'a', reward: 0, over: { finishedAt: '2026-11-15T09:00:00.000000Z' } })])
    await ingest({ from: [job], registry: others })
    await exportRegistry({ registry: others }, out, false)
    await importRegistry({ registry: mine }, out)
    const [found] = await findRuns({ registry: mine }, {})
    expect(found).toMatchObject({ job_status: 'finished', n_trials: 2, accuracy: 0.5 })
    expect(await numberOf(mine, 'SELECT count(*) FROM sandbox_trials WHERE superseded_at IS NULL')).toBe(2)
  })

  test('an import of a later part replaces an earlier one, and never the other way round', async () => {
    const [mine, others] = [await kit.fresh(), await kit.fresh()]
    const [early, late] = [place('early.jsonl'), place('late.jsonl')]
    const job = await makeJob(place('parts'), { id: 'parts', planned: 3, records: [trialOf({ task: 'a', reward: 1 })] })
    await ingest({ from: [job], registry: others })
    await exportRegistry({ registry: others }, early, false)
    await importRegistry({ registry: mine }, early)
    await addRecords(job, [trialOf({ task: 'b', reward: 0 })])
    await ingest({ from: [job], registry: others })
    await exportRegistry({ registry: others }, late, false)
    for (const path of [late, early]) {
      await importRegistry({ registry: mine }, path)
      const [found] = await findRuns({ registry: mine }, {})
      expect(found, path).toMatchObject({ job_status: 'partial', n_trials: 2, accuracy: 0.5 })
    }
  })

  test('the page of a model has its runs, however many models have longer names', async () => {
    const registry = await kit.fresh()
    const jobOf = (id: string, model: string, startedAt: string) =>
      makeJob(place(`page-${id}`), { id, startedAt, records: [trialOf({ task: 'a', model })] })
    await ingest({ from: [await jobOf('own', 'org/gpt', '2026-01-01T00:00:00.000000Z')], registry })
    await ingest({ from: [await jobOf('longer', 'org/gpt-2', '2026-02-01T00:00:00.000000Z')], registry })
    {
      await using database = await openRegistry(registry)
      await database.run(sql`INSERT INTO sandbox_jobs (id, source_id, job_name, job_status, agent_id, model_id, benchmark_id, started_at,
          created_at, updated_at) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        SELECT 'many-' || i, source_id, job_name, 'started', agent_id, model_id, benchmark_id, started_at, created_at, updated_at
        FROM n, sandbox_jobs WHERE source_id = 'longer'`)
    }
    const { runs } = await new Board({ registry }, []).model('org/gpt', new Map())
    expect(runs.map(({ jobName }) => jobName)).toEqual(['page-own'])
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
      message: expect.stringContaining('lacks permission'),
    })

    const writer = { registry: as('writer') }
    expect(await findRuns(writer, {})).toHaveLength(2)
    expect((await ingest({ from: [hidden], isPublic: true, ...writer })).ingested).toMatchObject([{ added: 0 }])
    expect(await findRuns(reader, {})).toHaveLength(2)
  })
})

async function fill(kit: Kit, scratch = kit.scratch): Promise<string> {
  const registry = await kit.fresh()
  const of = (task: string) => trialOf({ task, model: 'hosted_vllm/org/teacher' })
  const job = await makeJob(join(scratch, 'teacher-job'), { id: 'teacher-job', records: [of('a'), of('b')] })
  for (const trial of ['a__0', 'b__0']) {
    mkdirSync(join(job, trial, 'agent'), { recursive: true })
    const [file] = fixtureFiles(readdirSync('test/fixtures/traces').sort()[0] ?? '').filter(
      ({ name }) => name === 'trajectory.json',
    )
    const text = String(file && Buffer.from(file.bytes)).replaceAll('openai/gpt-x', 'hosted_vllm/org/teacher')
    writeFileSync(join(job, trial, 'agent', 'trajectory.json'), text)
  }
  const traces = join(scratch, 'traces')
  await exportTraces({ from: job, out: traces, form: 'readable' })
  const summary = join(scratch, 'run_summary.json')
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
      wandb_link: 'https://wandb.ai/team/agents/runs/a1',
      weights_location: 'org/student',
      runs: [{ job_id: '4711' }],
    }),
  )
  await ingest({ from: [job], registry })
  await ingest({ from: [traces], registry, name: 'org/traces' })
  await ingest({ from: [summary], registry })
  return registry
}
