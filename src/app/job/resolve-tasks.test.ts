import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeTask } from '../../../test/fakes/tasks.ts'
import { planJob } from './prepare-job.ts'
import { resolveTasks } from './resolve-tasks.ts'

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
  await expect(shareOf(1, 2)).rejects.toThrow('task-1: expected a complete task: no tests/test.sh')
  await expect(shareOf(1, 2, { exclude: ['task-1'] })).resolves.toEqual(['task-2'])
  await expect(shareOf(0, 1)).rejects.toThrow('task-1: expected a complete task')
  await expect(shareOf(0, 1, { exclude: ['task-1'] })).rejects.toThrow('task-3/task.toml')
})

/** A folder with enough tasks for an index, and a job over them. */
async function manyTasks() {
  const tasks = join(dir, 'tasks')
  for (let i = 0; i < 100; i++) await writeTask(tasks, `task-${String(i).padStart(3, '0')}`)
  const { config } = await planJob({ tasks, agent: 'oracle', sandbox: 'local', limit: 1 }, () => {})
  const all = { ...config, datasets: config.datasets.map((dataset) => ({ ...dataset, nTasks: null })) }
  const jobDir = join(dir, 'job')
  mkdirSync(jobDir)
  // Very recent changes are not indexed.
  await sleep(40)
  const resolve = () => resolveTasks(all, undefined, { jobDir, settleMs: 20 })
  return { tasks, jobDir, resolve }
}

test('many tasks that have not changed since an earlier run are read when they are needed', async () => {
  const { resolve } = await manyTasks()
  const first = await resolve()
  expect(first.tasks[0]?.task).toHaveProperty('instruction')
  const second = await resolve()
  expect(second.tasks).toHaveLength(100)
  expect(second.tasks[0]?.task).not.toHaveProperty('instruction')
  expect(second.tasks).toEqual(
    first.tasks.map(({ task: { name, dir, digests }, config }) => ({ task: { name, dir, digests }, config })),
  )
  expect(await second.loadTasks()).toEqual(first.tasks)
})

test('many tasks are all read when one has changed, is new or is gone, or the index is damaged', async () => {
  const { tasks, jobDir, resolve } = await manyTasks()
  const digestsOf = async () => (await resolve()).tasks.map(({ task }) => task.digests.content)
  const before = await digestsOf()
  appendFileSync(join(tasks, 'task-050/instruction.md'), 'And more.')
  const changed = await resolve()
  expect(changed.tasks[0]?.task).toHaveProperty('instruction')
  expect(changed.tasks.filter(({ task }, i) => task.digests.content !== before[i])).toHaveLength(1)
  await writeTask(tasks, 'task-new')
  expect(await digestsOf()).toHaveLength(101)
  rmSync(join(tasks, 'task-new'), { recursive: true })
  expect(await digestsOf()).toHaveLength(100)
  appendFileSync(join(jobDir, '.tasks.index'), 'x')
  expect((await resolve()).tasks[0]?.task).toHaveProperty('instruction')
})

test('a task that breaks between being found and being read is reported', async () => {
  const { tasks, resolve } = await manyTasks()
  await resolve()
  const { loadTasks } = await resolve()
  rmSync(join(tasks, 'task-007/tests'), { recursive: true })
  await expect(loadTasks()).rejects.toThrow('task-007: expected a complete task: no tests/test.sh')
})
