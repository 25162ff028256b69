import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { catchPrinted } from '../../../test/printed.ts'
import { jobConfigOf } from '../job/job-config.ts'
import { jobRequestOf } from './job-request.ts'
import { runOptions } from './run-options.ts'

test('without a job file: one oracle in the default sandbox, named by the time', async () => {
  const { config, named } = await asked([])
  expect(config).toMatchObject({ agents: [{ name: 'oracle' }], environment: { type: 'local' }, nConcurrentTrials: 4 })
  expect(named).toBe(false)
  expect(config.jobName).toMatch(/^\d{4}-\d\d-\d\d__\d\d-\d\d-\d\d$/)
})

test('options win over the job file, whose old spelling still counts', async () => {
  const file =
    'job_name: filed\norchestrator: {n_concurrent_trials: 8, retry: {max_retries: 2}}\nn_attempts: 3\nagents: [{name: nop, kwargs: {a: 1}}]\n'
  const { config, named } = await asked(['-k', '5', '--ak', 'b=true', '-r', '7'], file)
  expect(named).toBe(true)
  expect(config).toMatchObject({ jobName: 'filed', nConcurrentTrials: 8, nAttempts: 5, retry: { maxRetries: 7 } })
  expect(config.agents).toMatchObject([{ name: 'nop', kwargs: { a: 1, b: true } }])
})

test('-a replaces the agents of the job file, and each -m makes one', async () => {
  const { config } = await asked(
    ['-a', 'oracle', '-m', 'x/one', '-m', 'x/two', '--ae', 'K=v=w'],
    'agents: [{name: nop}, {name: nop}]\n',
  )
  expect(config.agents.map(({ name, modelName, env }) => [name, modelName, env])).toEqual([
    ['oracle', 'x/one', { K: 'v=w' }],
    ['oracle', 'x/two', { K: 'v=w' }],
  ])
})

test('Harbor’s other flags are understood', async () => {
  const words = [
    '--env',
    'docker',
    '--no-delete',
    '--no-force-build',
    '--enable-verification',
    '--mounts-json',
    '[{"a":1}]',
  ]
  const { config } = await asked(words)
  expect(config).toMatchObject({
    environment: { type: 'docker', delete: false, forceBuild: false, mountsJson: [{ a: 1 }] },
    verifier: { disable: false },
  })
  expect((await asked(['--delete', '--force-build'])).config.environment).toMatchObject({
    ...{ type: 'local', delete: true, forceBuild: true },
  })
})

test.each([
  [['-t', 'org/task@1'], "--task org/task@1: tasks of Harbor's hub cannot be fetched by ot-agent"],
  [['--env', 'docker', '-e', 'local'], 'expected -e or --env, got both: local and docker'],
  [['--mounts-json', '{'], '--mounts-json: expected JSON'],
  [['--task-git-commit', 'abc'], 'expected --task-git-url with --task-git-commit'],
  [['--registry-path', 'r.json', '--registry-url', 'http://x'], 'expected --registry-path or --registry-url, got both'],
])('refuses %j', async (words, message) => {
  await expect(asked(words)).rejects.toThrow(message)
})

test('--set reaches any key and is the last word', async () => {
  const { config } = await asked([
    '-n',
    '2',
    '--set',
    'n_concurrent_trials=9',
    '--set',
    'agents[0].kwargs.deep.er=[1]',
    '--set',
    'verifier.max_timeout_sec=1.5',
  ])
  expect(config).toMatchObject({
    nConcurrentTrials: 9,
    verifier: { maxTimeoutSec: 1.5 },
    agents: [{ kwargs: { deep: { er: [1] } } }],
  })
})

test('an unknown key of the job file is refused', async () => {
  await expect(asked([], 'colour: blue\n')).rejects.toThrow('colour is not a known key')
  await expect(asked([], 'environment: {extra_allowed_hosts: [x]}\n')).rejects.toThrow('extra_allowed_hosts')
})

test('every override has its place', async () => {
  const argv = [
    '--override-cpus',
    '2',
    '--override-gpus',
    '0',
    '--ek',
    'pids=64',
    '--ve',
    'A=1',
    '--disable-verification',
    '--agent-may-modify-system',
    '--artifact',
    '/x',
  ]
  const { config } = await asked([
    ...argv,
    '--timeout-multiplier',
    '2',
    '--agent-timeout-multiplier',
    '0.5',
    '--reward-precedence',
    'json',
  ])
  expect(config).toMatchObject({
    environment: { overrideCpus: 2, overrideGpus: 0, kwargs: { pids: 64 } },
    verifier: { env: { A: '1' }, disable: true, rewardPrecedence: 'json', agentMayModifySystem: true },
    artifacts: ['/x'],
    timeoutMultipliers: { all: 2, agent: 0.5, verifier: null },
  })
})

async function asked(argv: readonly string[], file?: string) {
  const path = join(await mkdtemp(join(tmpdir(), 'job-file-')), 'job.yaml')
  if (file !== undefined) await writeFile(path, file)
  catchPrinted()
  const command = runOptions().parse([...argv, ...(file === undefined ? [] : ['-c', path])], { from: 'user' })
  return jobConfigOf(jobRequestOf(command.opts()), () => {})
}
