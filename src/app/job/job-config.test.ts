import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { jobConfigOf } from './job-config.ts'
import type { TasksRequest } from './tasks-request.ts'

async function jobOf(document: object | null, request: TasksRequest = {}) {
  const jobFile = join(await makeTempDir(), 'job.json')
  if (document !== null) await writeFile(jobFile, JSON.stringify(document))
  const notes: string[] = []
  const asked = { ...request, ...(document !== null && { jobFile }) }
  const { config } = await jobConfigOf(asked, (line) => notes.push(line.replace(jobFile, 'FILE')))
  return { environment: config.environment, agents: config.agents, retries: config.retry.maxRetries, notes }
}

test.each<[string, object | null, TasksRequest, string | null]>([
  ['no job file', null, {}, 'local'],
  ['a job file that names none', { n_attempts: 2 }, {}, 'docker'],
  ['a job file with other settings of the environment', { environment: { override_cpus: 2 } }, {}, 'docker'],
  ['a job file that names one', { environment: { type: 'daytona' } }, {}, 'daytona'],
  ['a flag beside a job file', { n_attempts: 2 }, { sandbox: 'local' }, 'local'],
  ['--set beside a job file', { n_attempts: 2 }, { set: [['environment.type', 'modal']] }, 'modal'],
  ['a file that only sets up a model', { agent_name: 'a', model: 'm', api_base: 'http://x/v1' }, {}, 'local'],
  ['a class of one’s own', { environment: { import_path: './box.ts' } }, {}, null],
])('the sandbox with %s', async (_, document, request, type) => {
  const { environment, notes } = await jobOf(document, request)
  expect(environment.type).toBe(type)
  expect(notes.filter((note) => note.includes('environment.type'))).toEqual(
    type === 'docker' ? ['FILE: environment.type is missing, which means docker as in Harbor; -e chooses another'] : [],
  )
})

test.each<[string, object | null, TasksRequest, number]>([
  ['nothing names a number', null, {}, 0],
  ['only a default is given', null, { retry: { defaultMax: 2 } }, 2],
  ['the job file says nothing about it', { n_attempts: 2 }, { retry: { defaultMax: 2 } }, 2],
  ['the job file names one', { retry: { max_retries: 5 } }, { retry: { defaultMax: 2 } }, 5],
  ['the job file wants none', { retry: { max_retries: 0 } }, { retry: { defaultMax: 2 } }, 0],
  ['the request names one', { retry: { max_retries: 5 } }, { retry: { max: 1, defaultMax: 2 } }, 1],
  ['--set names one', null, { retry: { defaultMax: 2 }, set: [['retry.max_retries', 3]] }, 3],
])('the number of retries when %s', async (_, document, request, retries) => {
  expect((await jobOf(document, request)).retries).toBe(retries)
})

test('a request to keep sandboxes is reported as ignored', async () => {
  const { notes } = await jobOf({ environment: { type: 'docker', delete: false } })
  expect(notes).toEqual(['delete = false is ignored: sandboxes are removed after each trial'])
})

test.each<[object, string, string]>([
  [{ n_attempt: 2 }, 'n_attempt', 'did you mean n_attempts?'],
  [{ agents: [{ name: 'oracle', kwarg: {} }] }, 'agents[0].kwarg', 'did you mean agents[0].kwargs?'],
  [{ environment: { network: 'none' } }, 'environment.network', 'known keys: type, '],
  [{ orchestrator: { speed: 3 } }, 'orchestrator.speed', 'remove this key'],
])('a key that no job file has is refused: %j', async (document, key, hint) => {
  await expect(jobOf(document)).rejects.toMatchObject({
    message: expect.stringContaining(`: ${key} is not a known key`),
    hint: expect.stringContaining(hint),
  })
})

test('an old spelling is honoured, and noted', async () => {
  const { notes } = await jobOf({ orchestrator: { n_concurrent_trials: 2 }, environment: { type: 'local' } })
  expect(notes).toEqual([expect.stringContaining('orchestrator is a deprecated spelling')])
})

test('a placeholder model counts as none, and a named model replaces it', async () => {
  const document = {
    environment: { type: 'local' },
    agents: [{ name: 'terminus-2', model_name: 'placeholder/override-at-runtime' }],
  }
  expect((await jobOf(document)).agents).toMatchObject([{ modelName: null }])
  expect((await jobOf(document, { model: 'openai/m' })).agents).toMatchObject([{ modelName: 'openai/m' }])
})

test('trajectory_configs is trajectory_config in options of the request and of engine files too', async () => {
  const engineConfig = join(await makeTempDir(), 'engine.json')
  const extra_agent_kwargs = { trajectory_configs: { linear_history: true } }
  await writeFile(engineConfig, JSON.stringify({ engine: { type: 'openai', model: 'm' }, extra_agent_kwargs }))
  const ofFile = await jobOf(null, { agent: 'terminus-2', engineConfig })
  expect(ofFile.agents).toMatchObject([{ kwargs: { trajectory_config: { linear_history: true } } }])
  const agentOptions = { trajectory_configs: { raw_content: true } }
  const { agents } = await jobOf(null, { agent: 'terminus-2', engineConfig, agentOptions })
  expect(agents).toMatchObject([{ kwargs: { trajectory_config: { raw_content: true } } }])
  expect(agents[0]?.kwargs).not.toHaveProperty('trajectory_configs')
})

test.each<[string, TasksRequest, string]>([
  ['no model', {}, 'oracle'],
  ['a model by its prefix', { model: 'llama/composer-6m' }, 'terminus-2'],
  ['a model without an address', { model: 'some-model' }, 'terminus-2'],
  ['a model and an agent', { model: 'some-model', agent: 'nop' }, 'nop'],
])('the agent with %s', async (_, request, name) => {
  expect((await jobOf(null, request)).agents.map((agent) => agent.name)).toEqual([name])
})
