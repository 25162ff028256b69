import { spawn, spawnSync } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeEach, expect, test } from 'vitest'
import { makeTask, makeTempDir } from '../../../test/make-task.ts'
import { runCommand } from '../../app/flags/command.ts'
import makePack from '../tasks/pack.ts'
import { checkOutputFile, writeOutputFile } from './output-file.ts'

let dir: string
beforeEach(async () => {
  dir = await makeTempDir()
})

function makePipe(): string {
  const pipe = join(dir, 'pipe')
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0)
  return pipe
}

test('a pipe gets the result and stays a pipe', async () => {
  const pipe = makePipe()
  const reader = spawn('cat', [pipe], { stdio: ['ignore', 'pipe', 'inherit'] })
  // Node discards unread output when a child exits.
  const read = text(reader.stdout)
  await checkOutputFile(pipe)
  await writeOutputFile(pipe, 'the result')
  expect(await read).toBe('the result')
  expect(lstatSync(pipe).isFIFO()).toBe(true)
})

test('tasks are packed into no pipe: it would be gone', async () => {
  const pipe = makePipe()
  const packing = runCommand(makePack, ['ot-agent', 'tasks', 'pack'], [await makeTask(), '--out', pipe])
  await expect(packing).rejects.toThrow(/^--out: expected a file, got .*pipe/)
  expect(lstatSync(pipe).isFIFO()).toBe(true)
})

test('a link to a file stays one, and the file has the result', async () => {
  writeFileSync(join(dir, 'real'), 'old')
  symlinkSync('real', join(dir, 'link'))
  await writeOutputFile(join(dir, 'link'), 'new')
  expect(lstatSync(join(dir, 'link')).isSymbolicLink()).toBe(true)
  expect(readFileSync(join(dir, 'real'), 'utf8')).toBe('new')
})

test('a directory and a place below a file are refused before the work', async () => {
  mkdirSync(join(dir, 'sub'))
  writeFileSync(join(dir, 'file'), '')
  await expect(checkOutputFile(join(dir, 'sub'))).rejects.toThrow('--output: expected a writable file')
  await expect(checkOutputFile(join(dir, 'file/x'))).rejects.toThrow('got ENOTDIR')
  await checkOutputFile(join(dir, 'to/be/made'))
  expect(readdirSync(dir).sort()).toEqual(['file', 'sub'])
})

test('a result that cannot be put in place leaves no files behind', async () => {
  await expect(writeOutputFile(join(dir, 'x'.repeat(300)), 'result')).rejects.toThrow('the name is too long')
  expect(readdirSync(dir)).toEqual([])
})
