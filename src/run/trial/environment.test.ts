import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { jobConfig, taskNamed, trialConfig } from '../../../test/fakes/configs.ts'
import type { SandboxAbilities, SandboxProvider } from '../../core/sandbox.ts'
import type { Environment, Task } from '../../core/task.ts'
import { effectiveEnvironment, refuseUnmetNeeds, type SandboxAlternatives } from './environment.ts'

const task = taskNamed('t')
const alternatives: SandboxAlternatives = async (need) => [`${need}-box`]

test.each<[string, Partial<Environment>, string]>([
  ['a prebuilt image', { dockerImage: 'debian:12' }, 'images-box'],
  ['a GPU', { gpus: 2 }, 'gpu-box'],
  ['a TPU', { tpu: { type: 'v5' } }, 'tpu-box'],
  ['Windows', { os: 'windows' }, 'windows-box'],
  ['an allowlist', { network: { mode: 'allowlist', hosts: ['x.org'] } }, 'allowlist-box'],
])('refuses %s where the sandbox has none, for good, and names who can', async (_, change, able) => {
  const refusal = refuse({ ...task, environment: { ...task.environment, ...change } })
  await expect(refusal).rejects.toMatchObject({
    boundary: 'task',
    retryable: false,
    message: expect.stringContaining(able),
  })
})

test.each<[string, Partial<Task>]>([
  ['a network of its own for the agent', { agent: { network: { mode: 'no-network' } } }],
  ['a network of its own for the tests', { verifier: { ...task.verifier, network: { mode: 'no-network' } } }],
  ['an artifact of another service', { artifacts: [{ source: '/x', exclude: [], service: 'db' }] }],
  [
    'a collect command in another service',
    { verifier: { ...task.verifier, collect: [{ command: 'x', service: 'db', timeoutSec: 1 }] } },
  ],
])('refuses %s', async (_, change) => {
  await expect(refuse({ ...task, ...change })).rejects.toMatchObject({ boundary: 'task' })
})

test('refuses a compose file and mounts, and lets a sandbox that has everything pass', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'environment-'))
  await writeFile(join(dir, 'docker-compose.yaml'), '')
  const composed = { ...task, environment: { ...task.environment, dir } }
  await expect(refuse(composed)).rejects.toThrow('compose file')
  const config = trialConfig({ environment: { ...jobConfig().environment, mountsJson: [{}] } })
  await expect(refuse(task, config)).rejects.toThrow('mounts_json')
  const everything = { gpu: true, compose: true, images: true, windows: true, networkPerPhase: true } as const
  const able: SandboxAbilities = { ...everything, network: ['public', 'no-network', 'allowlist'] }
  await refuse({ ...composed, agent: { network: { mode: 'no-network' } } }, trialConfig(), able)
})

test('the same network in every phase needs no switch', async () => {
  await refuse({ ...task, agent: { network: { mode: 'public' } } })
})

test("the job's overrides win over the task", async () => {
  const config = { ...jobConfig().environment, overrideCpus: 8, overrideMemoryMb: 4096, overrideGpus: 0 }
  const environment = await effectiveEnvironment({ ...task.environment, cpus: 1, gpus: 2 }, config)
  expect(environment).toMatchObject({ cpus: 8, memoryMb: 4096, gpus: 0 })
})

test('a forced build ignores a prebuilt image only where there is something to build', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'environment-'))
  await mkdir(join(dir, 'with'))
  await writeFile(join(dir, 'with', 'Dockerfile'), 'FROM debian')
  const config = { ...jobConfig().environment, forceBuild: true }
  const built = await effectiveEnvironment({ ...task.environment, dockerImage: 'x', dir: join(dir, 'with') }, config)
  const kept = await effectiveEnvironment({ ...task.environment, dockerImage: 'x', dir }, config)
  expect([built.dockerImage, kept.dockerImage]).toEqual([undefined, 'x'])
})

const poor: SandboxAbilities = {
  gpu: false,
  compose: false,
  images: false,
  windows: false,
  network: ['public', 'no-network'],
  networkPerPhase: false,
}

async function refuse(task: Task, config = trialConfig(), can = poor): Promise<void> {
  const provider: Pick<SandboxProvider, 'name' | 'can'> = { name: 'small', can }
  await refuseUnmetNeeds(task, [task.environment], config, { provider, alternatives })
}
