import { chmod, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { asOrdinaryUser } from '../../../test/ordinary-user.ts'
import { defaultSettings } from './environment.ts'
import { loadTask } from './load.ts'
import { type NewTask, saveTask } from './save.ts'

const task: NewTask = {
  settings: { ...defaultSettings, name: 'example/new', agent: { timeoutSec: 5 } },
  instruction: 'Do it.\n',
  files: {
    'environment/Dockerfile': 'FROM debian:12-slim\n',
    'environment/data.bin': new Uint8Array([0, 255]),
    'tests/test.sh': '#!/bin/sh\n',
  },
}

test('writes a task that loads, scripts executable', async () => {
  const dir = join(await makeTempDir(), 'folder/new')
  await saveTask(dir, task)
  expect(await loadTask(dir)).toMatchObject({ ...task.settings, instruction: 'Do it.\n' })
  expect((await stat(join(dir, 'tests/test.sh'))).mode & 0o777).toBe(0o755)
  expect([...(await readFile(join(dir, 'environment/data.bin')))]).toEqual([0, 255])
})

test('refuses a path that is taken, and one it may not write to', async () => {
  const folder = await makeTempDir()
  const dir = join(folder, 'new')
  await saveTask(dir, task)
  await expect(saveTask(dir, task)).rejects.toThrow('expected a new path')
  await chmod(folder, 0o555)
  await asOrdinaryUser(async () => {
    await expect(saveTask(join(folder, 'other'), task)).rejects.toThrow('other: expected a writable path, got EACCES')
  })
  expect(await readdir(folder)).toEqual(['new'])
  // Otherwise only root could remove it.
  await chmod(folder, 0o755)
})

test('writes nothing when a file would leave the task', async () => {
  const folder = await makeTempDir()
  const escaping = { ...task, files: { '../outside': 'x' } }
  await expect(saveTask(join(folder, 'new'), escaping)).rejects.toThrow('would leave the task')
  expect(await readdir(folder)).toEqual([])
})
