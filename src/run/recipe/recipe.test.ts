import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readTree } from '../../../test/trees.ts'
import { UserError } from '../../core/errors.ts'
import type { Recipe, StageEntry } from '../../core/recipe.ts'
import type { TaskRow } from '../../core/row.ts'
import type { AnyStage, StageServices } from '../../core/stage.ts'
import { draftOf } from '../../lib/drafts.ts'
import type { StepOutput } from '../../store/rows/step-dir.ts'
import type { RecipeOutcome } from './outcome.ts'
import { readReport } from './read-report.ts'
import { resolveRecipe } from './resolve.ts'
import { type RecipeEvent, runRecipe } from './run-recipe.ts'

let dir: string
let runs: string[]
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ot-agent-test-'))
  runs = []
})
afterEach(() => rmSync(dir, { recursive: true }))

const services = {} as StageServices
const task = (source: string, i: number): TaskRow => ({
  id: `${source}-${i}`,
  name: `${source}-${i}`,
  source,
  instruction: `do ${i % 7}`,
  digest: `digest-${i % 7}`,
  archive: new Uint8Array([i % 256]),
  lineage: null,
  signals: { length: i },
})

/** Stages made for these tests; each run is recorded in `runs`. */
const stages: Record<string, (options: Record<string, unknown>) => AnyStage> = {
  'sources/numbers': ({ source = 'a', count = 25 }) => ({
    kind: 'source',
    gives: 'task',
    fingerprint: async () => 'fixed',
    async *rows() {
      runs.push(`source ${source}`)
      for (let i = 0; i < Number(count); i++)
        yield i % 10 === 9 ? { drop: 'unlucky', id: `${source}-${i}` } : task(String(source), i)
    },
  }),
  'sources/costly': (options) => ({ ...stages['sources/numbers']!(options), expensive: true }) as AnyStage,
  'filters/short': ({ most = 1e9 }) => ({
    kind: 'sql-filter',
    takes: 'task',
    reason: `CASE WHEN (signals->>'length')::INTEGER > ${Number(most)} THEN 'too-long' END`,
  }),
  'filters/odd': () => ({
    kind: 'filter',
    takes: 'task',
    keep({ id, signals }: TaskRow) {
      runs.push(`odd ${id}`)
      return signals.length! % 2 === 1 || { reason: 'even', detail: `${signals.length}` }
    },
  }),
  'filters/lengthen': () => ({
    kind: 'map',
    takes: 'task',
    gives: 'task',
    async *run(rows: AsyncIterable<TaskRow>) {
      for await (const row of rows) yield { ...row, signals: { length: row.signals.length! + 1 } }
    },
  }),
  rollout: () => ({
    kind: 'map',
    takes: 'task',
    gives: 'task',
    expensive: true,
    async *run(rows: AsyncIterable<TaskRow>) {
      for await (const row of rows) {
        runs.push(`roll out ${row.id}`)
        yield row
      }
    },
  }),
  'filters/duplicates': () => ({
    kind: 'set-filter',
    takes: 'task',
    async findDrops({ view }, { sql }) {
      await sql.run(
        `CREATE OR REPLACE TABLE seen AS SELECT row, id, 'duplicate' AS reason, NULL AS detail FROM ${view} QUALIFY row_number() OVER (PARTITION BY digest ORDER BY row) > 1`,
      )
      return 'seen'
    },
  }),
  'filters/picky': () => ({
    kind: 'sql-filter',
    takes: 'task',
    fingerprint: async () => {
      throw new UserError('expected a list, found none', 'write one')
    },
    reason: 'NULL',
  }),
  'filters/broken': () => ({
    kind: 'map',
    takes: 'task',
    gives: 'task',
    async *run(rows: AsyncIterable<TaskRow>, { workDir }) {
      const step = stepOf('broken')
      writeFileSync(draftOf(join(step, 'part-00000.parquet')), workDir)
      for await (const row of rows) {
        yield row
        throw new Error('the world broke')
      }
    },
  }),
  'filters/greedy': () => ({
    kind: 'set-filter',
    takes: 'task',
    async findDrops(_, { sql }) {
      await sql.run('CREATE OR REPLACE TABLE all_at_once AS SELECT list(range) FROM range(100000000)')
      return 'all_at_once'
    },
  }),
  'mixers/zip': ({ twice = false }) => ({
    kind: 'mixer',
    takes: 'task',
    many: true,
    async choose(inputs, { sql }) {
      const parts = inputs.map(
        ({ view, rows }, i) =>
          `SELECT ${i} AS input, row, row * ${inputs.length} + ${i} + pass * ${rows * 10} AS position, NULL AS reason, NULL AS detail, '{"mixed":1}' AS signals FROM ${view}, range(${twice ? 2 : 1}) t(pass)`,
      )
      await sql.run(`CREATE TEMP TABLE zipped AS ${parts.join(' UNION ALL ')}`)
      return 'zipped'
    },
  }),
  'sinks/ids': () => ({
    kind: 'exporter',
    takes: 'task',
    async write(input, { sql, outDir }) {
      const rows = await sql.rows(`SELECT id, signals FROM ${input.view} ORDER BY row`)
      writeFileSync(join(outDir, 'ids.json'), JSON.stringify(rows))
      return { counts: { rows: rows.length }, files: ['ids.json'] }
    },
  }),
}

const make = async (use: string, options: Readonly<Record<string, unknown>>): Promise<AnyStage> => {
  const stage = stages[use]
  if (!stage) throw new UserError(`unknown stage ${JSON.stringify(use)}`, 'known: ...')
  return stage({ ...options })
}
const recipe = (...list: (string | StageEntry)[]): Recipe => ({
  name: 'test',
  stages: list.map((each) => (typeof each === 'string' ? { use: each } : each)),
})
async function run(of: Recipe, more: object = {}): Promise<RecipeOutcome> {
  const resolved = await resolveRecipe(of, make)
  const signal = new AbortController().signal
  return runRecipe({ recipe: resolved, dir, services, signal, shardRows: 4, memoryMb: 200, ...more })
}
const ids = (): string[] =>
  JSON.parse(readFileSync(join(dir, 'out/ids/ids.json'), 'utf8')).map((row: { id: string }) => row.id)

const plain = recipe('sources/numbers', { use: 'filters/short', with: { most: 20 } }, 'filters/odd', 'sinks/ids')

test('rows go through every stage in order, and what is dropped is counted by its reason', async () => {
  const { steps } = await run(plain)
  expect(ids()).toEqual([1, 3, 5, 7, 11, 13, 15, 17].map((i) => `a-${i}`))
  expect(steps.flatMap(({ manifest }) => manifest.counts)).toMatchObject([
    { id: 'numbers', taken: 0, given: 23, drops: { unlucky: 2 } },
    { id: 'short', taken: 23, given: 19, drops: { 'too-long': 4 } },
    { id: 'odd', taken: 19, given: 8, drops: { even: 11 } },
  ])
})

test('every step reports its number, what it takes and what it gives, and so does an exporter', async () => {
  const events: RecipeEvent[] = []
  await run(plain, { onEvent: (event: RecipeEvent) => events.push(event) })
  const told = events.filter(({ kind }) => kind !== 'shard-end' && kind !== 'step-rows' && kind !== 'log')
  const starts = told.flatMap((event) => (event.kind === 'step-start' ? [event] : []))
  expect(starts.map(({ index, of, rows }) => [index, of, rows])).toEqual(
    starts.map((_, i) => [i + 1, starts.length, i === 0 ? null : expect.any(Number)]),
  )
  expect(told.slice(-4)).toMatchObject([
    { kind: 'step-start', stages: ['ids'], rows: 8 },
    { kind: 'recheck-start', rows: 8 },
    { kind: 'recheck-end' },
    { kind: 'step-end', step: 'ids', rows: 8, cached: false },
  ])
  await run(plain, { onEvent: (event: RecipeEvent) => events.push(event) })
  expect(events.at(-1)).toMatchObject({ kind: 'step-end', step: 'ids', rows: 8, cached: true })
})

test('the second run makes nothing again, and a changed filter only the steps below it', async () => {
  const rolled = recipe(
    'sources/numbers',
    'rollout',
    'filters/odd',
    { use: 'filters/short', with: { most: 20 } },
    'sinks/ids',
  )
  await run(rolled)
  const first = runs.length
  const events: string[] = []
  const again = await run(rolled, { onEvent: ({ kind }: { kind: string }) => events.push(kind) })
  // Rows checked when they were written are not checked again.
  expect(events).not.toContain('recheck-start')
  expect(again.cached).toHaveLength(4)
  expect(again.sinks[0]?.cached).toBe(true)
  await run(
    recipe('sources/numbers', 'rollout', 'filters/odd', { use: 'filters/short', with: { most: 10 } }, 'sinks/ids'),
  )
  expect(runs.filter((line) => line.startsWith('roll out')).length).toBe(23)
  expect(runs.slice(first).filter((line) => line.startsWith('source'))).toEqual([])
  expect(ids()).toEqual([1, 3, 5, 7].map((i) => `a-${i}`))
})

test('a changed source makes only its own branch again', async () => {
  const branches = (count: number) =>
    recipe(
      { id: 'a', use: 'sources/numbers', with: { source: 'a', count } },
      { id: 'b', use: 'sources/numbers', with: { source: 'b', count: 3 } },
      'mixers/zip',
      'sinks/ids',
    )
  await run(branches(3))
  await run(branches(2))
  expect(runs).toEqual(['source a', 'source b', 'source a'])
  expect(ids()).toEqual(['a-0', 'b-0', 'a-1', 'b-1', 'b-2'])
})

test("leftovers of a killed run's sorting do not affect the next one", async () => {
  const mixed = recipe({ id: 'a', use: 'sources/numbers', with: { count: 3 } }, 'mixers/zip', 'sinks/ids')
  await run(mixed)
  const whole = await readTree(join(dir, 'stages'))
  for (const name of readdirSync(stepOf('zip'))) rmSync(join(stepOf('zip'), name))
  mkdirSync(join(stepOf('zip'), 'sorted.tmp'))
  writeFileSync(join(stepOf('zip'), 'sorted.tmp/heap-0'), 'half a row')
  await run(mixed)
  expect(await readTree(join(dir, 'stages'))).toEqual(whole)
})

test("what a killed run left half-made is removed by the next one; a living process's files are not", async () => {
  await run(plain)
  const { pid: dead } = spawnSync('true')
  const left = (pid: number) =>
    ['tmp-1', 'out/ids', join('stages', basename(stepOf('odd')), 'part-00000.parquet'), 'work/odd/checking'].map(
      (name) => join(dir, `${name}.${hostname()}-${pid}.tmp`),
    )
  for (const path of [...left(dead), ...left(process.ppid)]) mkdirSync(join(path, 'full'), { recursive: true })
  await run(plain, { share: { index: 0, of: 2 } })
  expect(left(dead).filter((path) => existsSync(path))).toEqual(left(dead))
  await run(plain)
  expect(left(dead).filter((path) => existsSync(path))).toEqual([])
  expect(left(process.ppid).filter((path) => existsSync(path))).toEqual(left(process.ppid))
})

test('a shard that cannot be made leaves nothing of it behind', async () => {
  await expect(run(recipe('sources/numbers', 'filters/broken', 'sinks/ids'))).rejects.toThrow('the world broke')
  expect(readdirSync(stepOf('broken'))).toEqual([])
})

test('every step tells how many rows of each source it has', async () => {
  await run(
    recipe(
      { id: 'a', use: 'sources/numbers', with: { source: 'a', count: 3 } },
      { id: 'b', use: 'sources/numbers', with: { source: 'b', count: 8 } },
      'mixers/zip',
      { use: 'filters/short', with: { most: 1 } },
      'sinks/ids',
    ),
  )
  const { steps } = await readReport(dir)
  expect(steps.map(({ id, sources }) => [id, sources])).toEqual([
    ['a', { a: 3 }],
    ['b', { b: 8 }],
    ['zip', { b: 8, a: 3 }],
    ['short', { a: 2, b: 2 }],
  ])
})

test('a mixer may take rows more than once, and its signals join those of the row', async () => {
  await run(
    recipe({ use: 'sources/numbers', with: { count: 3 } }, { use: 'mixers/zip', with: { twice: true } }, 'sinks/ids'),
  )
  expect(ids()).toEqual(['a-0', 'a-1', 'a-2', 'a-0', 'a-1', 'a-2'])
  expect(readFileSync(join(dir, 'out/ids/ids.json'), 'utf8')).toContain('\\"mixed\\":1')
})

test('a whole-set stage sees rows of every shard', async () => {
  await run(recipe('sources/numbers', 'filters/duplicates', 'sinks/ids'))
  expect(ids()).toEqual(['a-0', 'a-1', 'a-2', 'a-3', 'a-4', 'a-5', 'a-6'])
})

test('processes that share a recipe make the same files as one alone', async () => {
  const shared = recipe('sources/numbers', 'filters/odd', 'filters/duplicates', 'sinks/ids')
  await run(shared)
  const alone = await readTree(join(dir, 'stages'))
  rmSync(join(dir, 'stages'), { recursive: true })
  rmSync(join(dir, 'out'), { recursive: true })
  for (const index of [2, 0, 1]) {
    const { waitingAt } = await run(shared, { share: { index, of: 3 } })
    expect(waitingAt).not.toBeNull()
  }
  expect((await run(shared)).waitingAt).toBeNull()
  expect(await readTree(join(dir, 'stages'))).toEqual(alone)
})

test('each of the processes that share a recipe checks the files it reads, and the one that finishes it checks all', async () => {
  const shared = recipe('sources/numbers', 'filters/odd', 'filters/duplicates', 'sinks/ids')
  await run(shared, { until: 'numbers' })
  const damaged = join(stepOf('numbers'), 'part-00001.parquet')
  const whole = readFileSync(damaged)
  writeFileSync(
    damaged,
    whole.map((byte, i) => (i === 20 ? byte ^ 1 : byte)),
  )
  expect((await run(shared, { share: { index: 0, of: 2 } })).waitingAt).toBe('odd')
  await expect(run(shared, { share: { index: 1, of: 2 } })).rejects.toThrow(
    'part-00001.parquet has changed since it was written',
  )
  await expect(run(shared)).rejects.toThrow('part-00001.parquet has changed since it was written')
  writeFileSync(damaged, whole)
  await run(shared, { share: { index: 1, of: 2 } })
  await run(shared)
  expect(ids()).toEqual([1, 3, 5, 7, 11, 13, 23].map((i) => `a-${i}`))
})

test('a source that makes all its rows at once, as a pipeline does, is left to one process', async () => {
  const costly = recipe({ id: 'made', use: 'sources/costly' }, 'filters/odd', 'sinks/ids')
  const shares = () => Promise.all([0, 1].map((index) => run(costly, { share: { index, of: 2 } })))
  expect((await shares()).map(({ waitingAt }) => waitingAt)).toEqual(['made', 'made'])
  expect(runs).toEqual([])
  await run(costly, { until: 'made' })
  for (const { waitingAt } of await shares()) expect(waitingAt).not.toBe('made')
  expect(runs.filter((line) => line.startsWith('source'))).toEqual(['source a'])
  await run(costly)
  expect(ids()).toHaveLength(10)
})

/** The directory of a step. */
const stepOf = (id: string): string => {
  const [step = ''] = readdirSync(join(dir, 'stages')).filter((name) => name.startsWith(`${id}-`))
  return join(dir, 'stages', step)
}

test('a stopped run resumes to the same files', async () => {
  await run(plain)
  const whole = await readTree(join(dir, 'stages'))
  for (const name of ['manifest.json', 'part-00002.done', 'part-00001.parquet', 'part-00001.done'])
    rmSync(join(stepOf('numbers'), name))
  for (const name of ['manifest.json', 'part-00002.done', 'rejects-00001.parquet', 'part-00001.done'])
    rmSync(join(stepOf('odd'), name))
  rmSync(join(dir, 'out'), { recursive: true })
  await run(plain)
  expect(await readTree(join(dir, 'stages'))).toEqual(whole)
})

test('a step that was begun goes on in shards of the size it was begun with, and loses no row', async () => {
  const mixed = recipe('sources/numbers', 'mixers/zip', 'sinks/ids')
  await run(mixed)
  const whole = await readTree(join(dir, 'stages'))
  for (const step of ['numbers', 'zip'])
    for (const name of ['manifest.json', 'part-00001.done', 'part-00004.done']) rmSync(join(stepOf(step), name))
  rmSync(join(dir, 'out'), { recursive: true })
  await run(mixed, { shardRows: 7 })
  expect(await readTree(join(dir, 'stages'))).toEqual(whole)
  expect(ids()).toHaveLength(23)
})

test('rows that filters keep stay where they are, unless they are the smaller part', async () => {
  const { steps } = await run(plain)
  const [numbers, short, odd] = steps
  const place = (of: StepOutput) => of.shards.map(({ part, kept }) => [basename(dirname(part)).split('-')[0], kept])
  expect(place(numbers!)).toEqual(Array(6).fill(['numbers', null]))
  expect(place(short!).slice(3)).toEqual([
    ['numbers', '1111'],
    ['numbers', '1110'],
    ['short', null],
  ])
  expect(place(odd!).slice(3)).toEqual([
    ['numbers', '1010'],
    ['odd', null],
    ['short', ''],
  ])
})

test('a stage that needs more memory than there is says so in two lines', async () => {
  const error = await run(recipe('sources/numbers', 'filters/greedy', 'sinks/ids')).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(UserError)
  expect(error).toMatchObject({
    message: 'stage greedy: its rows need more memory than the database may use',
    hint: expect.stringContaining('--memory-mb'),
  })
})

test('a run stops at the stage it is told to, be it a sink, and one that nobody has is refused before anything runs', async () => {
  const list = recipe('sources/numbers', 'sinks/ids', 'filters/odd', { id: 'last', use: 'sinks/ids' })
  await expect(run(list, { until: 'even' })).rejects.toThrow('no stage "even" to stop at')
  expect([runs, readdirSync(dir)]).toEqual([[], []])
  const { sinks } = await run(list, { until: 'ids' })
  expect([sinks.map(({ id }) => id), runs]).toEqual([['ids'], ['source a']])
  await run(list, { until: 'odd' })
  expect(readdirSync(join(dir, 'out'))).toEqual(['ids'])
})

test('what a stage refuses before anything runs names the stage and writes nothing', async () => {
  const refused = run(recipe('sources/numbers', { id: 'list', use: 'filters/picky' }, 'sinks/ids'))
  await expect(refused).rejects.toMatchObject({ message: 'stage list: expected a list, found none', hint: 'write one' })
  expect([runs, readdirSync(dir)]).toEqual([[], []])
})

test('an unreadable receipt is rewritten with its files', async () => {
  await run(plain)
  const exported = ids()
  writeFileSync(join(dir, 'out/ids/.receipt.json'), '{"digest":')
  expect((await run(plain)).sinks[0]?.cached).toBe(false)
  expect(ids()).toEqual(exported)
})

test('a corrupt shard stops the run and names the stage', async () => {
  await run(plain)
  writeFileSync(join(stepOf('numbers'), 'part-00001.parquet'), 'garbage')
  await expect(run(plain)).rejects.toThrow(/numbers-.*part-00001\.parquet has changed since it was written/)
})

test('a shard whose rows are in a file that has since changed is corrupt, and made again when removed', async () => {
  await run(plain)
  const exported = ids()
  const mark = join(stepOf('odd'), 'part-00001.done')
  writeFileSync(mark, readFileSync(mark, 'utf8').replace(/"sha256":"[0-9a-f]{4}/, '"sha256":"0000'))
  await expect(run(plain)).rejects.toThrow(/odd-.*part-00001\.done has changed since it was written/)
  rmSync(stepOf('odd'), { recursive: true })
  await run(plain)
  expect(ids()).toEqual(exported)
})

test('a filter that a later stage undoes is a leak, and nothing is handed out', async () => {
  const leaky = recipe({ use: 'filters/short', with: { most: 20 } })
  const list = recipe('sources/numbers', ...leaky.stages, 'filters/lengthen', 'sinks/ids')
  await expect(run({ ...list, name: 'leaky' })).rejects.toThrow(
    /stage short: row a-20 of the result should have been dropped/,
  )
  expect(readdirSync(dir)).not.toContain('out')
})

test('a filter of one branch says nothing about the rows of another, nor one below a sink about what it wrote', async () => {
  const made = await run(
    recipe(
      'sources/numbers',
      'filters/odd',
      { id: 'b', use: 'sources/numbers', with: { source: 'b', count: 6 } },
      'mixers/zip',
      'sinks/ids',
      { use: 'filters/short', with: { most: 3 } },
      { id: 'last', use: 'sinks/ids' },
    ),
  )
  expect(made.sinks.map(({ counts }) => counts.rows)).toEqual([16, 6])
})

test('what a stage undoes for one sink is a leak there, though another sink above was clean', async () => {
  const list = recipe('sources/numbers', 'filters/odd', 'sinks/ids', 'filters/lengthen', {
    id: 'last',
    use: 'sinks/ids',
  })
  await expect(run(list)).rejects.toThrow(/stage odd: row a-1 of the result should have been dropped \(even\)/)
  expect(readdirSync(join(dir, 'out'))).toEqual(['ids'])
})

test('copies that a later stage makes are a leak of the filter that removed copies', async () => {
  const list = recipe(
    'sources/numbers',
    'filters/duplicates',
    { use: 'mixers/zip', with: { twice: true } },
    'sinks/ids',
  )
  await expect(run(list)).rejects.toThrow(
    /stage duplicates: row a-\d of the result should have been dropped \(duplicate\)/,
  )
})

test('a lock that was edited is refused', async () => {
  await run(plain)
  const path = join(dir, 'lock.json')
  writeFileSync(path, readFileSync(path, 'utf8').replace('"most": 20', '"most": 21'))
  await expect(run(plain)).rejects.toThrow(/lock\.json has changed/)
})

test.each([
  [[], 'has no stages'],
  [['filters/odd'], 'starts with odd, which needs rows'],
  [['sources/numbers', 'sources/none'], 'stage none: unknown stage'],
  [['sources/numbers', 'filters/odd', 'filters/odd'], 'two stages with the id odd'],
  [['sources/numbers', { id: 'b', use: 'sources/numbers' }, 'filters/odd'], 'is below 2 branches: numbers, b'],
  [['sources/numbers', { use: 'filters/odd', from: 'later' }], 'from "later", which is not above it'],
  [['sources/numbers', { id: 'b', use: 'sources/numbers' }], 'ends in 2 branches: numbers, b'],
  [
    [
      'sources/numbers',
      { id: 'b', use: 'sources/numbers' },
      'mixers/zip',
      { use: 'filters/odd', from: ['numbers', 'b'] },
    ],
    'stage odd expects the rows of one stage, not of numbers, b',
  ],
  [[{ use: 'sources/numbers', from: 'x' }], 'is a source, which has no input'],
])('%j is refused: %s', async (list, message) => {
  await expect(resolveRecipe(recipe(...(list as (string | StageEntry)[])), make)).rejects.toThrow(message)
})
