import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { installSky } from '../../../test/fakes/scripted-sky.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import type { Launch, LaunchJob, Submission } from '../../core/launch.ts'
import { parseClusterYaml } from '../../formats/cluster-yaml.ts'
import skypilot, { parseQueue } from './index.ts'

const cluster = parseClusterYaml(
  [
    ...['name: pods', 'summary: x', 'scheduler: skypilot', 'nodes: 4', 'gpus_per_node: 8', 'gpu_type: H100'],
    ...['cpus_per_node: 16', 'internet_on_compute_nodes: true'],
    ...['sky:', '  resources: { infra: kubernetes, image_id: "docker:node:22" }', '  volumes: { /shared: data }'],
  ].join('\n'),
  'pods.yaml',
)
const one: LaunchJob = {
  ...{ name: 'eval', jobName: 'my eval', summary: 'x', place: null, after: [], array: null, restarts: 0, stopSec: 60 },
  resources: { nodes: 1, gpusPerNode: 2, cpusPerNode: 4, memoryGb: 32, timeLimit: '1-02:00:00' },
  script: [{ about: 'work', lines: ['echo "task ${SLURM_ARRAY_TASK_ID:-none} $SECRET_OF_LAUNCHER" >> "$RAN"'] }],
}

async function begin(job: LaunchJob = one, more: Partial<Launch> = {}) {
  const dir = await makeTempDir()
  const sky = join(dir, 'bin')
  installSky(sky)
  const launch: Launch = {
    ...{ id: 'l1', jobType: 'eval', cluster, experimentsDir: join(dir, 'exp'), jobs: [job], files: {} },
    ...{ dependency: null, ...more },
  }
  mkdirSync(launch.experimentsDir)
  const env = { PATH: `${sky}:${process.env.PATH}`, SECRET_OF_LAUNCHER: 'hunter2hunter2' }
  const scheduler = skypilot.make({}, { env, stateDir: dir })
  const scriptPath = join(launch.experimentsDir, `${job.name}.sh`)
  writeFileSync(scriptPath, scheduler.render(job, launch))
  const submit = async (tasks: readonly number[] | null = null): Promise<Submission> => ({
    ...{ job: job.name, link: 0, tasks },
    id: await scheduler.submit({ job, launch, link: 0, scriptPath, tasks, earlier: [] }),
  })
  const ended = async (submission: Submission) => {
    for (;;) {
      const states = await scheduler.states([submission])
      if (states.every(({ state }) => state !== 'running')) return states
      await wait(50)
    }
  }
  return { scheduler, launch, scriptPath, submit, ended, ran: () => readFileSync(join(sky, 'ran'), 'utf8'), sky }
}

test('a job becomes a task file with what it needs and what the cluster adds, without keys', async () => {
  const { submit, ended, scriptPath, scheduler, launch, ran } = await begin()
  const submission = await submit()
  const text = readFileSync(`${scriptPath}.sky.yaml`, 'utf8')
  expect(parse(text)).toMatchObject({
    name: expect.stringMatching(/^my-eval-[0-9a-f]{6}$/),
    num_nodes: 1,
    resources: { accelerators: 'H100:2', cpus: '4+', memory: '32+', infra: 'kubernetes', image_id: 'docker:node:22' },
    volumes: { '/shared': 'data' },
    run: expect.stringContaining('timeout --signal=USR1 --kill-after=60 93540 bash -c'),
  })
  expect(await ended(submission)).toEqual([{ id: submission.id, task: null, state: 'done', reason: 'SUCCEEDED' }])
  expect(ran()).toBe('task none \n')
  for (const name of readdirSync(launch.experimentsDir, { recursive: true, withFileTypes: true }).filter((e) =>
    e.isFile(),
  ))
    expect(readFileSync(join(name.parentPath, name.name), 'utf8')).not.toContain('hunter2')
  expect(scheduler.describe({ job: one, launch, link: 0, scriptPath, tasks: null })).toEqual([
    ...['sky', 'jobs', 'launch', '--yes', '--detach-run'],
    `${scriptPath}.sky.yaml`,
  ])
})

test('a time limit is read as Slurm reads it', async () => {
  for (const [timeLimit, limit] of [
    ['720', '--kill-after=60 43140'],
    ['48:00', '--kill-after=60 2820'],
    ['2-12:00', '--kill-after=60 215940'],
  ] as const) {
    const { submit, ended, scriptPath } = await begin({ ...one, resources: { ...one.resources, timeLimit } })
    await ended(await submit())
    expect(readFileSync(`${scriptPath}.sky.yaml`, 'utf8')).toContain(`timeout --signal=USR1 ${limit} bash -c`)
  }
})

test('an array becomes as many jobs as may run at once, and each task runs once', async () => {
  const { submit, ended, ran } = await begin({ ...one, array: { size: 5, throttle: 2 } })
  const submission = await submit([0, 1, 2, 4])
  const states = await ended(submission)
  expect(states.map(({ task, state }) => [task, state]).sort()).toEqual([
    [0, 'done'],
    [1, 'done'],
    [2, 'done'],
    [4, 'done'],
  ])
  expect(submission.id.split(',')).toHaveLength(2)
  expect(ran().trim().split(/ ?\n/).sort()).toEqual(['task 0', 'task 1', 'task 2', 'task 4'])
})

test('a job that fails is failed, and one that is cancelled is cancelled', async () => {
  const fails = await begin({ ...one, script: [{ about: 'x', lines: ['exit 3'] }] })
  expect(await fails.ended(await fails.submit())).toMatchObject([{ state: 'failed', reason: 'FAILED' }])
  const sleeps = await begin({ ...one, script: [{ about: 'x', lines: ['echo $$ > "$RAN"', 'exec sleep 300'] }] })
  const submission = await sleeps.submit()
  expect(await sleeps.scheduler.states([submission])).toMatchObject([{ state: 'running' }])
  await expect.poll(sleeps.ran).toMatch(/\d\n/)
  await sleeps.scheduler.cancel([submission])
  // The process is gone, or a zombie until its parent reaps it.
  const commandOf = () =>
    existsSync(`/proc/${sleeps.ran().trim()}`) ? readFileSync(`/proc/${sleeps.ran().trim()}/cmdline`, 'utf8') : ''
  await expect.poll(commandOf).toBe('')
  expect(await sleeps.ended(submission)).toMatchObject([{ state: 'cancelled' }])
  await sleeps.scheduler.cancel([{ ...submission, id: 'long-gone' }])
})

test('what SkyPilot refuses is told in its words', async () => {
  const full = { ...cluster, sky: { resources: { infra: 'full' } } }
  const { submit, sky } = await begin(one, { cluster: full })
  await expect(submit()).rejects.toThrow('sky refused eval: sky.exceptions.ResourcesUnavailableError: no such machine')
  expect(existsSync(join(sky, 'ran'))).toBe(false)
})

test('several nodes and a GPU without a name are refused', async () => {
  const two = await begin({ ...one, resources: { ...one.resources, nodes: 2 } })
  await expect(two.submit()).rejects.toMatchObject({ name: 'UserError', message: expect.stringContaining('one node') })
  const nameless = await begin(one, { cluster: { ...cluster, gpuType: undefined } })
  await expect(nameless.submit()).rejects.toMatchObject({ message: expect.stringContaining('gpu_type') })
})

test('without the command, the message says so', async () => {
  const { launch, scriptPath } = await begin()
  const bare = skypilot.make({}, { env: { PATH: '/nonexistent' }, stateDir: '/nonexistent' })
  await expect(bare.submit({ job: one, launch, link: 0, scriptPath, tasks: null, earlier: [] })).rejects.toThrow(
    'sky is not installed on this machine',
  )
})

test('states are read by name, whatever SkyPilot prints before them', () => {
  expect([
    ...parseQueue(
      'Note\n[{"job_name":"a","status":"ManagedJobStatus.RECOVERING"},{"job_name":"b","status":"FAILED_SETUP","failure_reason":"boom"}]',
    ),
  ]).toEqual([
    ['a', { state: 'running', reason: 'RECOVERING' }],
    ['b', { state: 'failed', reason: 'FAILED_SETUP boom' }],
  ])
  expect(() => parseQueue('no json')).toThrow('sky jobs queue')
})
