import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeTask } from '../../../test/fakes/tasks.ts'
import { planJob } from './prepare-job.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ot-agent-test-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

async function shareOf(index: number, of: number, more: object = {}): Promise<string[]> {
  const request = { tasks: dir, agent: 'oracle', sandbox: 'local', share: { index, of }, ...more }
  const { tasks } = await planJob(request, () => {})
  return tasks.map(({ task }) => basename(task.dir))
}

test('processes that share a job read every n-th task, and all of them once', async () => {
  for (let i = 0; i < 7; i++) await writeTask(dir, `task-${i}`)
  writeFileSync(join(dir, 'a-file'), '')
  expect(await shareOf(0, 3)).toEqual(['task-0', 'task-3', 'task-6'])
  expect(await shareOf(1, 3)).toEqual(['task-1', 'task-4'])
  expect(await shareOf(2, 3, { limit: 5 })).toEqual(['task-2'])
  expect(await shareOf(0, 2, { exclude: ['task-0'] })).toEqual(['task-1', 'task-3', 'task-5'])
  expect(await shareOf(8, 9)).toEqual([])
})

test('a task that is broken stops the process whose share it is in, and no other', async () => {
  for (let i = 0; i < 4; i++) await writeTask(dir, `task-${i}`, i === 1 ? { files: { 'tests/test.sh': null } } : {})
  const toml = join(dir, 'task-3/task.toml')
  writeFileSync(toml, `${readFileSync(toml, 'utf8')}[[`)
  expect(await shareOf(0, 2)).toEqual(['task-0', 'task-2'])
  await expect(shareOf(1, 2)).rejects.toThrow('task-1: expected a task, got one that is not complete: no tests/test.sh')
  await expect(shareOf(1, 2, { exclude: ['task-1'] })).resolves.toEqual(['task-2'])
  await expect(shareOf(0, 1)).rejects.toThrow('task-1: expected a task')
  await expect(shareOf(0, 1, { exclude: ['task-1'] })).rejects.toThrow('task-3/task.toml')
})
