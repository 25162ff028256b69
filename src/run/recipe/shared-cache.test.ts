import { existsSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import type { AnyStage, StageServices } from '../../core/stage.ts'
import { resolveRecipe } from './resolve.ts'
import { runRecipe } from './run-recipe.ts'

let shared: string
/** The stages that were run, in order. */
let made: string[]
let logs: string[]
beforeEach(async () => {
  shared = join(await makeTempDir(), 'cache')
  made = []
  logs = []
})

const stages: Record<string, AnyStage> = {
  source: {
    kind: 'source',
    gives: 'task',
    async *rows() {
      made.push('source')
      for (const id of ['a', 'b', 'c'])
        yield {
          ...{ id, name: id, source: 's', instruction: `do ${id}`, digest: id },
          ...{ archive: new Uint8Array([1]), lineage: null, signals: {} },
        }
    },
  },
  /** Leaves its rows in the files of the step above. */
  most: {
    kind: 'mixer',
    takes: 'task',
    async choose([input], { sql, saveResult }) {
      made.push('most')
      await sql.run(`CREATE OR REPLACE TABLE verdicts AS SELECT 0 AS input, row, row AS position, NULL::VARCHAR AS detail,
        NULL::VARCHAR AS signals, CASE WHEN id = 'b' THEN 'no' END AS reason FROM ${input?.view}`)
      await saveResult?.({ found: 2 })
      return 'verdicts'
    },
  },
}

async function run(dir: string, more: { seed?: number } = {}) {
  let kept: string[] = []
  const sink: AnyStage = {
    kind: 'exporter',
    takes: 'task',
    async write({ view }, { sql, made: before }) {
      expect(before.stages.find(({ id }) => id === 'most')?.result).toEqual({ found: 2 })
      kept = (await sql.rows(`SELECT id FROM ${view} ORDER BY row`)).map(({ id }) => String(id))
      return { counts: {}, files: [] }
    },
  }
  const own: Record<string, AnyStage> = { ...stages, sink }
  const recipe = await resolveRecipe(
    {
      ...{ name: 'test', seed: more.seed ?? 1 },
      stages: [{ use: 'source' }, { id: 'most', use: 'most' }, { use: 'sink' }],
    },
    async (use) => own[use] as AnyStage,
  )
  const { cached } = await runRecipe({
    ...{ recipe, dir, services: {} as StageServices, signal: new AbortController().signal, shardRows: 2 },
    sharedCache: shared,
    onEvent: (event) => {
      if (event.kind === 'log') logs.push(event.line)
    },
  })
  return { kept, cached: cached.length }
}

const stepIn = (dir: string, id: string) => {
  const name = readdirSync(dir).find((each) => each.startsWith(`${id}-`))
  if (name === undefined) throw new Error(`${id} is not in ${dir}`)
  return join(dir, name)
}

test('a run reuses what another made: no stage runs again, and the rows are the same', async () => {
  expect(await run(await makeTempDir())).toEqual({ kept: ['a', 'c'], cached: 0 })
  expect(made).toEqual(['source', 'most'])
  expect(readdirSync(shared).length).toBe(2)
  expect(await run(await makeTempDir())).toEqual({ kept: ['a', 'c'], cached: 2 })
  expect({ made, logs }).toEqual({ made: ['source', 'most'], logs: [] })
  expect(readdirSync(shared).filter((name) => name.startsWith('.'))).toEqual([])
})

test('a step of another digest is another step', async () => {
  await run(await makeTempDir())
  await run(await makeTempDir(), { seed: 2 })
  expect(made.length).toBeGreaterThan(2)
})

/** Every way in which another user of the folder can put bad data there. */
const attacks: readonly [string, string, (step: string) => void][] = [
  [
    'rows that are not those of the digest',
    'source',
    (step) => writeFileSync(join(step, 'part-00000.parquet'), 'PAR1'),
  ],
  ['a file that is missing', 'source', (step) => rmSync(join(step, 'rejects-00000.parquet'))],
  [
    'a step of another recipe under this name',
    'source',
    (step) => change(join(step, 'manifest.json'), (document) => ({ ...document, digest: 'f'.repeat(64) })),
  ],
  [
    'a link in the place of a file',
    'source',
    (step) => {
      renameSync(join(step, 'part-00000.parquet'), join(step, 'elsewhere'))
      symlinkSync(join(step, 'elsewhere'), join(step, 'part-00000.parquet'))
    },
  ],
  [
    'rows in a file elsewhere on the machine',
    'most',
    (step) =>
      change(join(step, 'part-00000.done'), (document) => ({
        ...document,
        part: { ...Object(document.part), of: '../../../../etc/part-00000.parquet' },
      })),
  ],
  [
    'more shards than there can be',
    'source',
    (step) => change(join(step, 'manifest.json'), (document) => ({ ...document, shards: 1e9 })),
  ],
  ['a manifest that is no JSON', 'source', (step) => writeFileSync(join(step, 'manifest.json'), '{')],
]

function change(file: string, by: (document: Record<string, unknown>) => object): void {
  writeFileSync(file, JSON.stringify(by(JSON.parse(readFileSync(file, 'utf8')))))
}

test.each(attacks)('%s: the step is made here, and the run says why', async (_, id, attack) => {
  await run(await makeTempDir())
  attack(stepIn(shared, id))
  made = []
  const dir = await makeTempDir()
  expect((await run(dir)).kept).toEqual(['a', 'c'])
  expect(made).toContain(id)
  expect(logs.filter((line) => line.startsWith('not shared: '))).not.toEqual([])
  expect(readdirSync(join(dir, 'stages')).filter((name) => name.startsWith('.'))).toEqual([])
})

test('a cache that cannot be used costs nothing but a line', async () => {
  writeFileSync(shared, 'a file')
  expect((await run(await makeTempDir())).kept).toEqual(['a', 'c'])
  expect(logs.length).toBe(2)
  expect(existsSync(shared)).toBe(true)
})
