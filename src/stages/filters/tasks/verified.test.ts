import { readdir } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { expect, test } from 'vitest'
import { runStage } from '../../../../test/contracts/stage.ts'
import { makeTempDir } from '../../../../test/make-task.ts'
import type { TaskRow } from '../../../core/row.ts'
import type { SpineRequest, StageServices } from '../../../core/stage.ts'
import { taskRowOf } from '../../shared/task-row.ts'
import verified from './verified.ts'

const stage = () =>
  verified.make(verified.options.parse({ concurrency: 3, judge: { model: 'openai/judge' } }), {
    env: {},
    stateDir: '/nonexistent',
  })
const task = (await taskRowOf('examples/tasks/csv-to-json', 'examples')) as TaskRow
const rows = Array.from({ length: 70 }, (_, i) => ({ ...task, id: `task-${i}` }))

test('asks about every task in batches, keeps what passes, and leaves nothing on the disk', async () => {
  const asked: number[] = []
  const workDir = await makeTempDir()
  const services = {
    async *check(dirs: readonly string[], how: object) {
      expect(how).toMatchObject({ sandbox: { name: 'local' }, concurrency: 3, judge: { model: 'openai/judge' } })
      asked.push(dirs.length)
      expect((await readdir(dirname(dirs[0] ?? ''))).length).toBe(dirs.length)
      for (const dir of dirs)
        yield basename(dir).endsWith('.1') ? { dir, reason: 'check-oracle', detail: 'scored 0' } : { dir, reason: null }
    },
  } as unknown as StageServices
  const given = await runStage(stage(), rows, { services, workDir })
  expect(asked).toEqual([64, 6])
  expect(given.filter((row) => 'drop' in row)).toEqual([
    { drop: 'check-oracle', detail: 'scored 0', id: 'task-1' },
    { drop: 'check-oracle', detail: 'scored 0', id: 'task-65' },
  ])
  expect(given).toHaveLength(70)
  expect(await readdir(workDir)).toEqual([])
})

test('a task that is not what its digest says never reaches a sandbox', async () => {
  const services = {
    async *check(dirs: readonly string[]) {
      for (const dir of dirs) yield { dir, reason: null }
    },
  } as unknown as StageServices
  const given = await runStage(stage(), [{ ...task, digest: 'f'.repeat(64) }], { services })
  expect(given).toMatchObject([{ drop: 'digest-mismatch', id: task.id }])
})

test('asks only about the start when told to, which is another result, and repeats it as often as told', async () => {
  const make = (more: object) => verified.make(verified.options.parse(more), { env: {}, stateDir: '/nonexistent' })
  const asked: unknown[] = []
  const services = {
    async *check(dirs: readonly string[], { startOnly, retries }: SpineRequest) {
      asked.push({ startOnly, retries })
      for (const dir of dirs) yield { dir, reason: null }
    },
  } as unknown as StageServices
  await runStage(make({ only: 'start', retries: 2 }), [task], { services })
  await runStage(make({}), [task], { services })
  expect(asked).toEqual([
    { startOnly: true, retries: 2 },
    { startOnly: false, retries: 0 },
  ])
  expect(make({ only: 'start', retries: 2 }).identity).toEqual(make({ only: 'start' }).identity)
  expect(make({ only: 'start' }).identity).not.toEqual(make({}).identity)
})

test('stands in recipes only', async () => {
  await expect(runStage(stage(), [task])).rejects.toMatchObject({ name: 'UserError' })
})
