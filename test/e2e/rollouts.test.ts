import { mkdtempSync, rmSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { stageServices } from '../../src/app/recipe/services.ts'
import type { StageEntry } from '../../src/core/recipe.ts'
import type { TaskRow } from '../../src/core/row.ts'
import { type AnyStage, isDropped, type Source } from '../../src/core/stage.ts'
import scriptedEngine from '../../src/engines/scripted/index.ts'
import { SqlDatabase, sqlText } from '../../src/lib/duckdb.ts'
import { packDirToBytes } from '../../src/lib/tar.ts'
import { makeAnyStage } from '../../src/plugins/make-stage.ts'
import type { RecipeOutcome } from '../../src/run/recipe/outcome.ts'
import { resolveRecipe } from '../../src/run/recipe/resolve.ts'
import { runRecipe } from '../../src/run/recipe/run-recipe.ts'
import { serveModel } from '../../src/server/serve-model.ts'
import { decodeRow } from '../../src/store/rows/columns.ts'
import { withSandboxes } from './kit.ts'

const givesUp = 'test/fixtures/stand-in/gives-up.json'
const dir = mkdtempSync(join(tmpdir(), 'ot-agent-rollouts-'))
afterAll(() => rmSync(dir, { recursive: true }))

const tasks = join(dir, 'tasks')
for (const name of ['csv-to-json', 'fix-ledger'])
  await cp(`examples/tasks/${name}`, join(tasks, name), { recursive: true })

const { signal } = new AbortController()
const services = stageServices(signal, { notify: () => {} })
const made: Record<string, AnyStage> = {}
const make = async (use: string, options: Readonly<Record<string, unknown>>): Promise<AnyStage> =>
  made[use] ?? makeAnyStage(use, options)

async function run(runDir: string, stages: readonly StageEntry[]): Promise<RecipeOutcome> {
  const recipe = await resolveRecipe({ name: 'test', seed: 3, stages }, make)
  return runRecipe({ recipe, dir: join(dir, runDir), services, signal, memoryMb: 200 })
}

async function rowsOf({ steps }: RecipeOutcome, kind: 'part' | 'rejects' = 'part'): Promise<Record<string, unknown>[]> {
  const last = steps.at(-1)
  await using sql = await SqlDatabase.open({ memoryMb: 128, threads: 1, tempDir: dir })
  const files = last?.shards.map((shard) => sqlText(shard[kind])).join(', ')
  const rows = await sql.rows(`SELECT * FROM read_parquet([${files}])`)
  return kind === 'rejects' ? [...rows] : rows.map((row) => decodeRow(last!.manifest.kind, row))
}

/** The two tasks, and rows that pretend to be tasks. */
made['sources/spoilt'] = {
  kind: 'source',
  gives: 'task',
  fingerprint: async () => 'spoilt',
  async *rows(at) {
    const folder = (await makeAnyStage('sources/task-folder', { path: tasks, source: 'examples' })) as Source<TaskRow>
    let last: TaskRow | undefined
    for await (const row of folder.rows(at)) {
      if (isDropped(row)) throw new Error(row.drop)
      yield row
      last = row
    }
    const away = join(dir, 'away')
    await mkdir(away)
    await symlink('/etc/passwd', join(away, 'instruction.md'))
    yield { ...last!, id: 'hostile', archive: await packDirToBytes(away, { links: 'keep' }) }
    await rm(join(away, 'instruction.md'))
    await writeFile(join(away, 'README.md'), 'no task')
    yield { ...last!, id: 'not-a-task', archive: await packDirToBytes(away) }
    yield { ...last!, id: 'somebody-elses', digest: '0'.repeat(64) }
  },
}

const scripted = (options: object = {}) => ({ model: 'scripted', engine: 'scripted', options: { tasks, ...options } })
const source: StageEntry = { use: 'sources/task-folder', with: { path: tasks, source: 'examples' } }
const agent = (options: object): StageEntry => ({ id: 'rollout', use: 'rollouts/agent', with: { ...options } })

/** The spend logs of all jobs in a folder, one line for each model call. */
async function callsOf(jobs: string): Promise<string[]> {
  const names = await readdir(join(dir, jobs))
  const books = names.map((name) => readFile(join(dir, jobs, name, 'spend.jsonl'), 'utf8'))
  const lines = (await Promise.all(books)).flatMap((text) => text.split('\n'))
  return lines.filter((line) => line.includes('"trial":'))
}

withSandboxes('rollouts', () => {
  test('every allocated attempt becomes a trace that knows its task', async () => {
    const stages = (concurrency: number) => [
      source,
      { use: 'rollouts/allocate', with: { target: 3 } },
      agent({ teacher: scripted(), concurrency }),
      { use: 'filters/rollouts/min-reward' },
      { use: 'filters/rollouts/no-subagents' },
    ]
    const outcome = await run('solved', stages(2))
    const rows = await rowsOf(outcome)
    expect(rows.map(({ task, attempt }) => `${task} ${attempt}`).sort()).toHaveLength(3)
    expect(new Set(rows.map(({ id }) => id)).size).toBe(3)
    for (const row of rows) {
      expect(row).toMatchObject({ source: 'examples', agent: 'terminus-2', reward: 1, trace_source: 'main' })
      expect(row.signals).toEqual({ attempt: row.attempt })
      expect(row.task_digest).toMatch(/^[0-9a-f]{64}$/)
      expect(row.id).toBe(`${row.job}/${row.trial_name}/main/${row.episode}`)
    }
    const again = await run('solved', stages(1))
    expect(again.cached).toContain('rollout')
    // As after a crash between the last trial and the shard: the job is read, and nothing runs again.
    for (const name of await readdir(join(dir, 'solved/stages')))
      if (name.startsWith('rollout-')) await rm(join(dir, 'solved/stages', name), { recursive: true })
    const read = await run('solved', stages(1))
    expect(read.cached).not.toContain('rollout')
    expect(await rowsOf(read)).toEqual(rows)
  })

  test('a spent budget stops the recipe, and a larger one lets it continue', async () => {
    const model_info = { input_cost_per_token: 0.001, output_cost_per_token: 0.001 }
    const stages = (budgetUsd: number) => [
      source,
      agent({ teacher: scripted({ model_info }), concurrency: 1, budgetUsd }),
    ]
    await expect(run('budget', stages(1))).rejects.toThrow('the budget of 1 USD was used up after 0 of 2 rollouts')
    const rows = await rowsOf(await run('budget', stages(1000)))
    expect(rows.map(({ reward }) => reward)).toEqual([1, 1])
    // What the stage's other shards have spent is not available to this one.
    const spent = rows.reduce((sum, { cost_usd }) => sum + Number(cost_usd), 0)
    const more = [
      ...stages(spent).slice(0, 1),
      { use: 'rollouts/allocate', with: { target: 3 } },
      ...stages(spent).slice(1),
    ]
    await expect(run('budget', more)).rejects.toThrow('was used up after 0 of 3 rollouts')
  })

  test('what cannot be rolled out is dropped with a reason, and the rest goes on', async () => {
    const fault = { kind: 'auth', match: 'ledger', times: 'always' }
    const outcome = await run('faulty', [
      { use: 'sources/spoilt' },
      agent({ teacher: scripted({ faults: [fault] }), concurrency: 3, timeoutMultiplier: 0.5 }),
    ])
    expect((await rowsOf(outcome)).map(({ task, reward }) => [task, reward])).toEqual([['csv-to-json', 1]])
    const rejects = await rowsOf(outcome, 'rejects')
    expect(rejects.map(({ id, reason }) => [id, reason]).sort()).toEqual([
      ['examples.fix-ledger', 'failed-model'],
      ['hostile', 'bad-archive'],
      ['not-a-task', 'broken-task'],
      ['somebody-elses', 'digest-mismatch'],
    ])
  })

  test('teachers are tried on the same tasks, and the rollout takes the better one', async () => {
    const stages = (model: string) => [
      source,
      {
        use: 'rollouts/select-teacher',
        with: {
          teachers: [
            { model: 'clueless', engine: 'scripted', options: { script: givesUp } },
            { ...scripted(), model },
          ],
          tasks: 1,
          concurrency: 2,
        },
      },
      agent({ teacher: { from: 'select-teacher' }, concurrency: 2 }),
    ]
    const outcome = await run('teachers', stages('able'))
    const rows = await rowsOf(outcome)
    expect(rows.map(({ model, reward }) => [model, reward])).toEqual([
      ['able', 1],
      ['able', 1],
    ])
    const report = await readFile(join(dir, 'teachers/work/select-teacher/report.md'), 'utf8')
    expect(report).toContain('Chosen: able.')
    expect(report).toMatch(/\| clueless \| 1 \| 0 \| 0\.0 % \|/)
    // The choice is stored with the rows, so a run that finds them there can read it from them.
    await rm(join(dir, 'teachers/work'), { recursive: true })
    expect((await run('teachers', stages('able'))).cached).toEqual(['task-folder', 'select-teacher', 'rollout'])
  })

  test('the rate of passes is measured by scored rollouts only, and tasks are kept by it', async () => {
    const once = { use: 'rollouts/pass-rate', with: { teacher: scripted(), attempts: 1, concurrency: 1 } }
    await run('once', [source, once])
    const before = await callsOf('once/work/pass-rate/jobs')
    const ofFirst = before.filter((line) => line.includes('"trial":"csv-to-json')).length
    // The first call of the last attempt at the second task.
    const fault = { kind: 'auth', match: 'ledger', every: before.length + ofFirst + 1 }
    const rated = { teacher: scripted({ faults: [fault] }), attempts: 2, concurrency: 1 }
    const stages = [source, { use: 'rollouts/pass-rate', with: rated }]
    const outcome = await run('rated', stages)
    const rows = await rowsOf(outcome)
    expect(rows.map(({ name, signals }) => [name, signals])).toEqual([
      ['csv-to-json', { 'pass-rate': 1, 'pass-rollouts': 2 }],
      ['fix-ledger', { 'pass-rate': 1, 'pass-rollouts': 1 }],
    ])
    // As after a crash before the rates were written: no model is asked a second time.
    const calls = await callsOf('rated/work/pass-rate/jobs')
    expect(calls.length).toBeGreaterThan(3)
    for (const name of await readdir(join(dir, 'rated/stages')))
      if (name.startsWith('pass-rate-')) await rm(join(dir, 'rated/stages', name), { recursive: true })
    expect(await rowsOf(await run('rated', stages))).toEqual(rows)
    expect(await callsOf('rated/work/pass-rate/jobs')).toEqual(calls)

    const never = {
      teacher: scripted({ faults: [{ kind: 'auth', match: 'ledger', times: 'always' }] }),
      attempts: 1,
      concurrency: 2,
    }
    const unmeasured = await run('unrated', [source, { use: 'rollouts/pass-rate', with: never }])
    expect(await rowsOf(unmeasured)).toHaveLength(1)
    expect(await rowsOf(unmeasured, 'rejects')).toMatchObject([
      {
        id: 'examples.fix-ledger',
        reason: 'not-measured',
        detail: '0 of 1 rollouts were scored, expected 1: failed-model',
      },
    ])
  })

  test('an agent without a model has a rate too, and a band of it keeps or drops', async () => {
    const band = { use: 'filters/tasks/signal-range', with: { signal: 'pass-rate', least: 0.2, most: 1 } }
    const rated = (agent: string) => ({ use: 'rollouts/pass-rate', with: { teacher: null, agent, attempts: 2 } })
    const solved = await rowsOf(await run('oracle', [source, rated('oracle'), band]))
    expect(solved.map(({ signals }) => signals)).toEqual([1, 2].map(() => ({ 'pass-rate': 1, 'pass-rollouts': 2 })))
    const idle = await run('nop', [source, rated('nop'), band])
    expect((await rowsOf(idle, 'rejects')).map(({ reason }) => reason)).toEqual([
      'pass-rate-too-low',
      'pass-rate-too-low',
    ])
  })

  test('the same model at another address continues from the existing results', async () => {
    const engine = scriptedEngine.make(scriptedEngine.options.parse({ tasks }), { env: {}, stateDir: dir })
    const at = async (origin: string) => {
      const teacher = { model: 'scripted', apiBase: `${origin}/v1` }
      return rowsOf(await run('moved', [source, agent({ teacher, concurrency: 2 })]))
    }
    const first = await serveModel(engine.service, { host: '127.0.0.1', port: 0, apiKey: null })
    const rows = await at(first.origin)
    await first.close()
    expect(rows.map(({ reward }) => reward)).toEqual([1, 1])
    const calls = await callsOf('moved/work/rollout/jobs')
    for (const name of await readdir(join(dir, 'moved/stages')))
      if (name.startsWith('rollout-')) await rm(join(dir, 'moved/stages', name), { recursive: true })
    const second = await serveModel(engine.service, { host: '127.0.0.1', port: 0, apiKey: null })
    expect(second.origin).not.toBe(first.origin)
    expect(await at(second.origin)).toEqual(rows)
    await second.close()
    expect(await callsOf('moved/work/rollout/jobs')).toEqual(calls)
  })

  test('a stage that is not above it cannot choose the teacher', async () => {
    await expect(run('nobody', [source, agent({ teacher: { from: 'nobody' } })])).rejects.toThrow(
      'needs the result of "nobody"',
    )
    await expect(run('source', [source, agent({ teacher: { from: 'task-folder' } })])).rejects.toThrow(
      'expected stage task-folder above it to choose a teacher',
    )
  })
})
