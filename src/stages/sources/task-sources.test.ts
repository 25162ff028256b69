import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runStage, stageLaws } from '../../../test/contracts/stage.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { readTree } from '../../../test/trees.ts'
import type { TaskRow } from '../../core/row.ts'
import { isDropped, type StageContext, type StageServices } from '../../core/stage.ts'
import { saveTaskDraft } from '../../formats/harbor-task/draft.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import { packTasks } from '../../formats/task-parquet/pack-tasks.ts'
import { extractTar } from '../../lib/tar.ts'
import hubTasks from './hub-tasks.ts'
import pipeline from './pipeline.ts'
import taskFolder from './task-folder.ts'
import taskParquet from './task-parquet.ts'

const plugin = { env: {}, stateDir: '/nonexistent' }
const lineage = { pipeline: 'p', strategy: 's', rowId: 'r', rowDigest: 'd'.repeat(64), seed: 7 }

async function makeFolder(): Promise<string> {
  const dir = join(await makeTempDir(), 'mine')
  for (const name of ['b', 'a'])
    await saveTaskDraft(
      { name, instruction: `Do ${name}.`, files: { 'tests/test.sh': { data: 'exit 0\n' } }, lineage },
      dir,
    )
  return dir
}
async function makeParquet(): Promise<string> {
  const dir = await makeFolder()
  const file = join(await makeTempDir(), 'packed.parquet')
  await packTasks(
    ['b', 'a'].map((name) => ({ path: `set/${name}`, dir: join(dir, name) })),
    file,
  )
  return file
}
const folderSource = (path: string) => taskFolder.make(taskFolder.options.parse({ path }), plugin)
const parquetSource = (path: string) => taskParquet.make(taskParquet.options.parse({ path }), plugin)

stageLaws('sources/task-folder', { make: async () => folderSource(await makeFolder()), rows: [] })
stageLaws('sources/task-parquet', { make: async () => parquetSource(await makeParquet()), rows: [] })

const rowsOf = (given: readonly unknown[]) => given.filter((row) => !isDropped(row)) as TaskRow[]

test('every task of a folder becomes a row whose archive holds it again, with its digest and lineage', async () => {
  const dir = await makeFolder()
  const rows = rowsOf(await runStage(folderSource(dir), []))
  expect(rows.map(({ id, name, source }) => [id, name, source])).toEqual([
    ['mine.a', 'a', 'mine'],
    ['mine.b', 'b', 'mine'],
  ])
  const out = join(await makeTempDir(), 'out')
  await extractTar(rows[0]!.archive, out)
  expect(await readTree(out)).toEqual(await readTree(join(dir, 'a')))
  expect(rows[0]).toMatchObject({ lineage, instruction: 'Do a.\n', digest: (await loadTask(out)).digests.content })
})

test('packed tasks give the same archives and digests as their folder', async () => {
  const packed = rowsOf(await runStage(parquetSource(await makeParquet()), []))
  expect(packed.map(({ id, name, source }) => [id, name, source])).toEqual([
    ['packed.set--b', 'set/b', 'packed'],
    ['packed.set--a', 'set/a', 'packed'],
  ])
  const [a] = rowsOf(await runStage(folderSource(await makeFolder()), []))
  expect(packed[1]).toMatchObject({ digest: a?.digest, archive: a?.archive })
})

test.each(['packed in parquet', 'as folders'])('tasks of a dataset %s come as from a folder', async (how) => {
  const repo = await makeTempDir()
  if (how === 'as folders') await cp(await makeFolder(), join(repo, 'tasks'), { recursive: true })
  else await cp(await makeParquet(), join(repo, 'data.parquet'))
  const stage = hubTasks.make(hubTasks.options.parse({ repo: `file:${repo}`, source: 'hub' }), plugin)
  const rows = rowsOf(await runStage(stage, []))
  const [a, b] = rowsOf(await runStage(folderSource(await makeFolder()), []))
  expect(rows.map(({ digest, source }) => [digest, source])).toEqual([
    [a?.digest, 'hub'],
    [b?.digest, 'hub'],
  ])
  expect(new Set(rows.map(({ id }) => id)).size).toBe(2)
})

test('what is no task, or holds a link, is dropped by name', async () => {
  const dir = await makeFolder()
  await mkdir(join(dir, 'broken'))
  await writeFile(join(dir, 'broken', 'task.toml'), 'schema_version = "1.4"\n')
  await symlink('/etc/passwd', join(dir, 'b', 'environment', 'secret'))
  const dropped = (await runStage(folderSource(dir), [])).filter(isDropped)
  expect(dropped).toMatchObject([
    { drop: 'broken-task', id: 'mine.broken' },
    { drop: 'unpackable-task', id: 'mine.b' },
  ])
})

test('the fingerprint of a folder changes with any file of a task, and with nothing else', async () => {
  const dir = await makeFolder()
  const at = {} as StageContext
  const before = await folderSource(dir).fingerprint?.(at)
  expect(await folderSource(dir).fingerprint?.(at)).toBe(before)
  await writeFile(join(dir, 'a', 'tests', 'test.sh'), 'exit 1\n')
  expect(await folderSource(dir).fingerprint?.(at)).not.toBe(before)
})

test('counts are told before anything runs, and a folder that is not there is refused', async () => {
  const at = {} as StageContext
  expect(await folderSource(await makeFolder()).expect?.(null, at)).toEqual({ rows: 2 })
  expect(await parquetSource(await makeParquet()).expect?.(null, at)).toEqual({ rows: 2 })
  await expect(folderSource('/nonexistent').expect?.(null, at)).rejects.toMatchObject({ name: 'UserError' })
  await expect(parquetSource('/nonexistent.parquet').expect?.(null, at)).rejects.toMatchObject({ name: 'UserError' })
})

describe('sources/pipeline', () => {
  /** A pipeline that copies a folder of tasks and drops one row. */
  const services = (asked: object[] = []) =>
    ({
      pipelineFingerprint: async (name: string) => `code of ${name}`,
      async *pipeline(request: Parameters<StageServices['pipeline']>[0]) {
        asked.push({ pipeline: request.pipeline, args: request.args })
        await rm(request.outDir, { recursive: true, force: true })
        await cp(await makeFolder(), request.outDir, { recursive: true })
        for (const name of ['a', 'b']) yield join(request.outDir, name)
        yield { drop: 'too-short', id: 'row-3', detail: '2 words' }
      },
    }) as unknown as StageServices
  const make = (options: object) => pipeline.make(pipeline.options.parse(options), plugin)

  test('gives the tasks and rejects of a pipeline, which gets the recipe’s seed, limit and arguments', async () => {
    const asked: object[] = []
    const stage = make({
      pipeline: 'data/nl2bash/generate.ts',
      args: { minWords: 4, check: false, families: ['x', 'y'] },
    })
    const given = await runStage(stage, [], { services: services(asked), limit: 5 })
    expect(given).toMatchObject([
      { id: 'nl2bash.a', source: 'nl2bash', lineage },
      { id: 'nl2bash.b', source: 'nl2bash' },
      { drop: 'too-short', id: 'row-3' },
    ])
    expect(asked).toEqual([
      {
        pipeline: 'data/nl2bash/generate.ts',
        args: { seed: 42, limit: 5, minWords: 4, check: false, families: ['x', 'y'] },
      },
    ])
  })

  test('depends on the code of the pipeline and on the file of rows it is given', async () => {
    const rows = join(await makeTempDir(), 'rows.jsonl')
    await writeFile(rows, '{}\n')
    const at = { services: services() } as StageContext
    const print = async () => make({ pipeline: 'x', args: { source: rows } }).fingerprint?.(at)
    const before = await print()
    expect(before).not.toBe(await make({ pipeline: 'x' }).fingerprint?.(at))
    await writeFile(rows, '{"a":1}\n')
    expect(await print()).not.toBe(before)
  })

  test('depends on which files, of which size, the folder has that it is given', async () => {
    const at = { services: services() } as StageContext
    const dumps = await makeTempDir()
    await writeFile(join(dumps, 'one.7z'), 'first')
    const print = async () => make({ pipeline: 'x', args: { inputDir: dumps } }).fingerprint?.(at)
    const before = await print()
    expect(await print()).toBe(before)
    await writeFile(join(dumps, 'one.7z'), 'another')
    const larger = await print()
    await writeFile(join(dumps, 'two.7z'), '')
    expect(new Set([before, larger, await print()]).size).toBe(3)
  })

  test('tells how many tasks are asked for at most', () => {
    const at = {} as StageContext
    expect(make({ pipeline: 'x', args: { limit: 9, count: 7 } }).expect?.(null, at)).toEqual({ rows: 7 })
    expect(make({ pipeline: 'x' }).expect?.(null, at)).toMatchObject({ rows: null, assumes: [expect.any(String)] })
  })

  test('stands in recipes only', async () => {
    await expect(runStage(make({ pipeline: resolve('x') }), [])).rejects.toMatchObject({ name: 'UserError' })
  })
})
