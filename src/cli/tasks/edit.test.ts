import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { editTasks } from '../../app/tasks/edit-tasks.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'

async function folder(): Promise<string> {
  const dir = await makeTempDir()
  cpSync('test/fixtures/harbor-task/tasks', dir, { recursive: true })
  return dir
}

test('every task of a folder gets the keys, and loses those that are removed', async () => {
  const path = await folder()
  const set = ['agent.timeout_sec=123.5', 'metadata.note=by hand', 'environment.cpus=2']
  expect((await editTasks({ path, set, unset: ['metadata.difficulty'] })).tasks).toEqual([
    'hello',
    'modern',
    'two-steps',
  ])
  for (const name of ['hello', 'modern']) {
    const task = await loadTask(join(path, name))
    expect(task.agent.timeoutSec).toBe(123.5)
    expect(task.metadata).toMatchObject({ note: 'by hand' })
    expect(task.metadata).not.toHaveProperty('difficulty')
  }
})

test.each([
  [{ set: ['agent.timeout_sec=long'], unset: [] }, 'agent.timeout_sec: expected a number'],
  [{ set: ['timeout'], unset: [] }, 'expected key=value'],
  [{ set: ['__proto__.x=1'], unset: [] }, 'expected a dotted key of task.toml'],
  [{ set: [], unset: ['a b'] }, 'expected a dotted key of task.toml'],
  [{ set: [], unset: [] }, 'expected a change'],
])('%j changes nothing', async (asked, message) => {
  const path = await folder()
  const text = () => readFileSync(join(path, 'hello', 'task.toml'), 'utf8')
  const before = text()
  await expect(editTasks({ path, ...asked })).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining(message),
  })
  expect(text()).toBe(before)
})
