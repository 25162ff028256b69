import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTask } from '../../../test/make-task.ts'
import { editTaskTomls } from './edit.ts'
import { loadTask } from './load.ts'

test('every task gets the change and keeps the rest', async () => {
  const dirs = [await makeTask({ 'task.toml': 'version = "1.0"\n[metadata]\ntags = ["a"]\nn = 3\n' }), await makeTask()]
  await editTaskTomls(dirs, (table) => ({ ...table, agent: { timeout_sec: 128.5 } }))
  const [first, second] = [await loadTask(dirs[0]!), await loadTask(dirs[1]!)]
  expect([first.agent.timeoutSec, second.agent.timeoutSec]).toEqual([128.5, 128.5])
  expect(first.metadata).toEqual({ tags: ['a'], n: 3 })
})

test('when one would break, none is changed', async () => {
  const dirs = [await makeTask(), await makeTask({ 'task.toml': 'version = "1.0"\n[metadata]\nbad = true\n' })]
  const before = await readFile(join(dirs[0]!, 'task.toml'), 'utf8')
  const change = (table: Record<string, unknown>) =>
    Object(table.metadata).bad ? { ...table, agent: { timeout_sec: 'long' } } : { ...table, agent: { timeout_sec: 5 } }
  await expect(editTaskTomls(dirs, change)).rejects.toThrow(/agent.timeout_sec: expected a number/)
  expect(await readFile(join(dirs[0]!, 'task.toml'), 'utf8')).toBe(before)
})
