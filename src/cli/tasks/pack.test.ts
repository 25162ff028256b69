import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTask, makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { readTree } from '../../../test/trees.ts'
import { type MakeCommand, runCommand } from '../../app/flags/command.ts'
import { UserError } from '../../core/errors.ts'
import pack from './pack.ts'
import unpack from './unpack.ts'

async function run(make: MakeCommand, ...argv: string[]): Promise<string> {
  const printed = catchPrinted()
  await runCommand(make, ['ot-agent', 'tasks'], argv)
  return printed()
}

/** A folder with one task, a broken one and something else. */
async function makeFolder(): Promise<{ folder: string; task: string }> {
  const task = await makeTask()
  return { folder: dirname(task), task }
}

async function failure(command: () => Promise<unknown>): Promise<string> {
  const error = await command().then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof UserError)) throw new Error(`expected a UserError, got ${error}`)
  return error.message
}

test('a folder of tasks goes into a file and comes out of it the same', async () => {
  const { folder } = await makeFolder()
  const dir = await makeTempDir()
  const file = join(dir, 'tasks.parquet')
  expect(await run(pack, folder, '--out', file)).toMatch(/^packed 1 tasks, 0\.00 MB, into .*tasks\.parquet\n$/)
  expect(await run(unpack, file, '--out', join(dir, 'out'))).toMatch(/^unpacked 1 tasks, 0\.00 MB, into .*out\n$/)
  expect(await readTree(join(dir, 'out'))).toEqual(await readTree(folder))
})

test('a single task goes under its own name', async () => {
  const { task } = await makeFolder()
  const dir = await makeTempDir()
  await run(pack, task, '--out', join(dir, 'x.parquet'))
  await run(unpack, join(dir, 'x.parquet'), '--out', join(dir, 'out'))
  expect(await readdir(join(dir, 'out'))).toEqual(['done'])
})

test('says the same to machines', async () => {
  const { folder } = await makeFolder()
  const dir = await makeTempDir()
  const [file, out] = [join(dir, 'x.parquet'), join(dir, 'out')]
  expect(JSON.parse(await run(pack, folder, '--out', file, '--json'))).toEqual({
    file,
    tasks: 1,
    bytes: expect.any(Number),
    leftOut: [],
  })
  const counts = { dir: out, bytes: expect.any(Number), unpacked: 1, replaced: 0, skipped: 0 }
  expect(JSON.parse(await run(unpack, file, '--out', out, '--json'))).toEqual(counts)
  const skipped = JSON.parse(await run(unpack, file, '--out', out, '--on-exist', 'skip', '--json'))
  expect(skipped).toEqual({ ...counts, unpacked: 0, skipped: 1 })
  expect(await run(unpack, file, '--out', out, '--on-exist', 'overwrite')).toContain('unpacked 1 tasks (1 replaced)')
})

test('leaves out what is not a task, says so and exits with 3', async () => {
  const { folder } = await makeFolder()
  await mkdir(join(folder, 'broken'))
  await writeFile(join(folder, 'broken/task.toml'), '')
  await mkdir(join(folder, 'notes'))
  const result = JSON.parse(await run(pack, folder, '--out', join(await makeTempDir(), 'x.parquet'), '--json'))
  expect(process.exitCode).toBe(3)
  process.exitCode = 0
  expect(result).toMatchObject({ tasks: 1, leftOut: [{ dir: join(folder, 'broken') }] })
})

test('explains what cannot be packed or unpacked, and writes nothing', async () => {
  const { folder, task } = await makeFolder()
  const dir = await makeTempDir()
  const file = join(dir, 'x.parquet')
  await run(pack, folder, '--out', file)
  await writeFile(join(dir, 'plain'), 'text')
  await mkdir(join(dir, 'taken/done'), { recursive: true })
  await mkdir(join(dir, 'empty'))
  const before = await readTree(dir)
  const out = join(dir, 'out')
  const wrong: [() => Promise<unknown>, string][] = [
    [() => run(pack, join(dir, 'none'), '--out', file), 'found nothing there'],
    [() => run(pack, join(dir, 'empty'), '--out', file), 'found none'],
    [() => run(pack, folder, '--out', join(dir, 'empty')), 'expected a file, got the directory'],
    [() => run(pack, folder, '--out', join(dir, 'plain/x.parquet')), 'plain: something else already exists there'],
    [() => run(pack, task, '--out', join(task, 'x.parquet')), 'expected a path outside the tasks'],
    [() => run(unpack, join(dir, 'none.parquet'), '--out', out), 'does not exist'],
    [() => run(unpack, join(dir, 'empty'), '--out', out), 'expected files of packed tasks, found none'],
    [() => run(unpack, join(dir, 'plain'), '--out', out), 'is not a parquet file'],
    [() => run(unpack, file, '--out', join(dir, 'plain')), 'is not a directory'],
    [() => run(unpack, file, '--out', join(dir, 'plain/out')), 'part of the path is a file'],
    [() => run(unpack, file, '--out', join(dir, 'taken')), 'taken/done exists already'],
    [() => run(unpack, file, '--out', out, '--on-exist', 'maybe'), "argument 'maybe' is invalid"],
    [() => run(unpack, file), "required option '-o, --out <dir>' not specified"],
  ]
  for (const [command, text] of wrong) expect(await failure(command)).toContain(text)
  expect(await readTree(dir)).toEqual(before)
  expect(await readFile(join(dir, 'plain'), 'utf8')).toBe('text')
})
