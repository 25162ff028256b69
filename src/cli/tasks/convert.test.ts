import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeTempDir, writeTree } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { runCommand } from '../../app/flags/command.ts'
import { UserError } from '../../core/errors.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import convert from './convert.ts'

const good = {
  'task.yaml': 'instruction: Do it.\nparser_name: other\n',
  Dockerfile: 'FROM debian:12-slim\n',
  'run-tests.sh': 'exit 0\n',
}

async function run(...argv: string[]): Promise<string> {
  const printed = catchPrinted()
  await runCommand(convert, ['ot-agent', 'tasks', 'convert'], argv)
  return printed()
}

async function makeFolder(tasks: Readonly<Record<string, Readonly<Record<string, string>>>>): Promise<string> {
  const folder = await makeTempDir()
  for (const [name, tree] of Object.entries(tasks)) await writeTree(join(folder, name), tree)
  return folder
}

test('converts one task below the folder under its own name', async () => {
  const folder = await makeFolder({ one: good })
  const out = join(await makeTempDir(), 'new/folder')
  const result = JSON.parse(await run(join(folder, 'one'), '--out', out, '--json'))
  expect(result).toEqual({
    converted: [
      { source: join(folder, 'one'), dir: join(out, 'one'), warnings: [expect.stringContaining('parser_name')] },
    ],
    failed: [],
  })
  expect((await loadTask(join(out, 'one'))).name).toBe('one')
})

test('converts what it can of a folder, reports the rest, and ends with 3', async () => {
  onTestFinished(() => {
    process.exitCode = undefined
  })
  const folder = await makeFolder({ a: good, b: { 'task.yaml': 'x: 1' }, c: good })
  const out = await makeTempDir()
  const result = JSON.parse(await run(folder, '--out', out, '--json'))
  expect(process.exitCode).toBe(3)
  expect(result.converted.map(({ dir }: { dir: string }) => dir)).toEqual([join(out, 'a'), join(out, 'c')])
  expect(result.failed).toEqual([
    { source: join(folder, 'b'), reason: expect.stringContaining('expected an instruction') },
  ])
  expect((await readdir(out)).sort()).toEqual(['a', 'c'])
})

test('prints a table for people', async () => {
  const folder = await makeFolder({ a: good })
  const out = await makeTempDir()
  expect(await run(folder, '--out', out)).toMatch(/^source +task +warnings\n\S+\/a +\S+\/a +1\n$/)
})

test('writes nothing when a target exists or nothing can be converted', async () => {
  const folder = await makeFolder({ a: good, b: good })
  const out = await makeFolder({ b: { x: '' } })
  await expect(run(folder, '--out', out)).rejects.toThrow(`${join(out, 'b')}: expected a new path`)
  expect(await readdir(out)).toEqual(['b'])
  const bad = await makeFolder({ a: { 'task.yaml': 'x: 1' } })
  await expect(run(bad, '--out', join(out, 'new'))).rejects.toThrow(UserError)
  expect(await readdir(out)).toEqual(['b'])
})

test('says what is missing on the command line', async () => {
  await expect(run('x')).rejects.toThrow("required option '-o, --out <dir>' not specified")
  await expect(run('--out', 'x')).rejects.toThrow("missing required argument 'source'")
})
