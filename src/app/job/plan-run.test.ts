import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentConfig, jobConfig, taskConfig } from '../../../test/fakes/configs.ts'
import { writeTask } from '../../../test/fakes/tasks.ts'
import { UserError } from '../../core/errors.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import { makeProvider, sandboxAlternatives } from '../../plugins/make.ts'
import type { JobTask } from '../../run/job/plan.ts'
import { planRun } from './plan-run.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-plan-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

let tasks: JobTask[]
let local: SandboxProvider
beforeAll(async () => {
  const dockerfile = (text: string) => ({ files: { 'environment/Dockerfile': text } })
  const dirs = [
    await writeTask(scratch, 'a', dockerfile('FROM debian:12\n')),
    await writeTask(scratch, 'b', dockerfile('FROM debian:13\n')),
    await writeTask(scratch, 'c', dockerfile('FROM debian:12\n')),
    await writeTask(scratch, 'd', { toml: 'schema_version = "1.2"\n[environment]\ndocker_image = "me/image:1"\n' }),
    await writeTask(scratch, 'e'),
  ]
  tasks = await Promise.all(dirs.map(async (dir) => ({ task: await loadTask(dir), config: taskConfig(dir) })))
  const real = await makeProvider('local')
  local = { ...real, preflight: async () => {} }
})

const config = jobConfig({
  jobsDir: join(scratch, 'jobs'),
  nAttempts: 3,
  agents: [agentConfig(), agentConfig({ name: 'nop' })],
})

test('counts trials and lists which tasks share an image', async () => {
  const plan = await planRun(config, tasks, local, sandboxAlternatives)
  expect(plan).toMatchObject({ sandbox: 'local', tasks: 5, agents: 2, attempts: 3, trials: 30, unavailable: null })
  expect(plan.images.map(({ kind, tasks, exists }) => [kind, tasks, exists])).toEqual([
    ['dockerfile', ['a', 'c'], null],
    ['dockerfile', ['b'], null],
    ['prebuilt', ['d'], null],
    ['none', ['e'], null],
  ])
  expect(plan.images[2]?.image).toBe('me/image:1')
})

test('names the tasks whose needs cannot be met, and who could', async () => {
  const { unmet } = await planRun(config, tasks, local, async () => ['another'])
  expect(unmet).toEqual([{ task: 'd', reason: expect.stringMatching(/me\/image:1.*sandbox local.*another/) }])
})

test('asks the provider which images exist, and builds nothing', async () => {
  const asked: string[] = []
  const before = readdirSync(scratch)
  const telling: SandboxProvider = {
    ...local,
    isPrepared: async ({ dir }) => {
      asked.push(dir)
      return dir.endsWith('b/environment')
    },
    prepare: () => Promise.reject(new Error('must not be called')),
    lease: () => Promise.reject(new Error('must not be called')),
  }
  const { images } = await planRun(config, tasks, telling, sandboxAlternatives)
  expect(images.map(({ exists }) => exists)).toEqual([false, true, false, null])
  expect(asked).toHaveLength(3)
  expect(readdirSync(scratch)).toEqual(before)
})

test('a sandbox that cannot run here is said, and the plan is made all the same', async () => {
  const missing = { ...local, preflight: () => Promise.reject(new UserError('no engine here', 'install one')) }
  const plan = await planRun(config, tasks, missing, sandboxAlternatives)
  expect(plan.unavailable).toBe('no engine here')
  expect(plan.images).toHaveLength(4)
})
