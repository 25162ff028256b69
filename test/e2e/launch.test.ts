import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { installSky } from '../fakes/scripted-sky.ts'
import { until } from '../slurm-cluster.ts'
import { engineFor, oracleOver, slowTasks } from '../slurm-launches.ts'
import { scratch, withSandboxes } from './kit.ts'

const cache = join(scratch, 'cache')

test('a launch on this machine makes tasks, publishes them after, and is written down', () => {
  const dir = join(scratch, 'good')
  const id = launch(
    dir,
    '--datagen-target-repo',
    `file:${join(scratch, 'published')}`,
    '--datagen-extra-args',
    '--limit 2 --no-check --source fixture',
  )
  expect(watch(dir, id, 0)).toEqual({ tasks: 'done', 'upload-tasks': 'done' })
  expect(readdirSync(join(dir, 'outputs/tasks/tasks'))).toHaveLength(2)
  expect(existsSync(join(scratch, 'published'))).toBe(true)
  expect(readdirSync(dir)).toEqual(expect.arrayContaining(['configs', 'launches', 'logs', 'outputs', 'sbatch_scripts']))
  expect(ot('launch', 'logs', id, '--experiments-dir', dir).stdout).toContain('2 tasks of 2 rows')
})

test('what comes after a job that failed is not run, and resume would hand both over again', () => {
  const dir = join(scratch, 'bad')
  const target = join(scratch, 'taken')
  const words = [
    '--datagen-target-repo',
    `file:${target}`,
    '--datagen-extra-args',
    '--limit 1 --no-check --input-dir x --no-such-option',
  ]
  const id = launch(dir, ...words)
  expect(watch(dir, id, 3)).toEqual({ tasks: 'failed', 'upload-tasks': 'cancelled' })
  expect(existsSync(target)).toBe(false)
  const told = JSON.parse(ot('launch', 'resume', id, '--experiments-dir', dir, '--dry-run', '--json').stdout)
  expect(told.jobs).toEqual({ tasks: null, 'upload-tasks': null })
})

test('a process whose share holds no task is done at once', () => {
  const words = [
    'data/nl2bash/generate.ts',
    '--stage',
    'traces',
    '--tasks-input',
    'examples/tasks',
    '--trace-share',
    '90/99',
  ]
  const { status, stdout, stderr } = ot('generate', ...words, '--output-dir', join(scratch, 'share'), '--no-upload')
  expect(status, stderr).toBe(0)
  expect(stdout).toContain('0 trials')
})

test('options may be spelt with underscores, and what is handed on to a job is not touched', () => {
  const words = [
    '--job_type=datagen',
    '--datagen_script=data/nl2bash/generate.ts',
    '--datagen_target_repo',
    'a/my_repo',
  ]
  const handed = ['--datagen_extra_args', '--limit 2 --input-dir /data/my_dir']
  const { status, stdout, stderr } = ot('launch', '--cluster', 'vista', ...words, ...handed, '--dry_run')
  expect(status, stderr).toBe(0)
  expect(stdout).toContain('--input-dir /data/my_dir')
  expect(stdout).toContain('a/my_repo')
})

test('a launch that cannot be read hides no other, and is refused in two lines', () => {
  const dir = join(scratch, 'damaged')
  mkdirSync(join(dir, 'launches/broken'), { recursive: true })
  writeFileSync(join(dir, 'launches/broken/launch.json'), '{"schema": "launch/1", ')
  const listed = ot('launch', 'list', '--experiments-dir', dir, '--json')
  expect(listed).toMatchObject({ status: 0, stderr: expect.stringContaining('broken/launch.json') })
  expect(JSON.parse(listed.stdout).launches).toEqual([])
  const told = ot('launch', 'status', '--experiments-dir', dir)
  expect(told).toMatchObject({ status: 2, stderr: expect.stringMatching(/^error: .+launch\.json.+\nhint: .+\n$/) })
  const init = ot('launch', 'cluster', 'init', 'mine', '--out', '/etc/passwd/mine.yaml')
  expect(init).toMatchObject({ status: 2, stderr: expect.stringMatching(/^error: .+\nhint: .+\n$/) })
})

withSandboxes('a launch with agents', () => {
  test('trials of a pipeline are packed where that is asked for', () => {
    const dir = join(scratch, 'packed')
    const words = ['data/nl2bash/generate.ts', '--stage', 'traces', '--tasks-input', 'examples/tasks', '--limit', '1']
    const more = ['--trace-agent-name', 'nop', '--trace-eval-only', '--disable-verification', '--trace-store', 'packed']
    const { status, stdout, stderr } = ot('generate', ...words, '--output-dir', dir, '--no-upload', ...more)
    expect(status, stderr).toBe(0)
    expect(stdout).toContain('1 trial')
    const [job = ''] = readdirSync(join(dir, 'jobs'))
    expect(readdirSync(join(dir, 'jobs', job))).toContain('packed')
    expect(readdirSync(join(dir, 'jobs', job)).filter((name) => name.includes('__'))).toEqual([])
  })

  test('gives its sandboxes back when it is cancelled', async () => {
    const dir = join(scratch, 'cancelled')
    const tasks = await slowTasks(join(scratch, 'slow'), 1, 600)
    const id = submit(dir, ...oracleOver(tasks))
    const left = () => JSON.parse(ot('clean', '--dry-run', '--json').stdout).reaped
    await until('a sandbox', () => readdirSync(join(cache, 'ot-agent/local/sandboxes')).length > 0)
    expect(ot('launch', 'cancel', id, '--experiments-dir', dir).status).toBe(0)
    expect(watch(dir, id, 3)).toEqual({ traces: 'cancelled' })
    expect(left()).toEqual([])
  })
})

test('a server ends when the only job that needs it is cancelled', async () => {
  const dir = join(scratch, 'cancelled-eval')
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'engine.json'), engineFor('examples/tasks'))
  // The job waits for its turn at the server, and nothing else happens meanwhile.
  const tasks = await slowTasks(join(scratch, 'slow-eval'), 1, 600)
  const engine = ['--datagen-config', join(dir, 'engine.json'), '--set', 'vllm_server.num_replicas=1']
  const words = ['--job-type', 'eval', '--eval-benchmark', tasks, '--eval-model', 'stand-in', '--eval-agent', 'oracle']
  const id = submit(dir, ...words, ...engine)
  await until('the server', () => existsSync(join(dir, 'launches', id, 'endpoint.json')), 60)
  const cancel = ['launch', 'cancel', id, '--job', 'eval', '--experiments-dir', dir, '--json']
  expect(JSON.parse(ot(...cancel).stdout).cancelled).toHaveLength(3)
  expect(watch(dir, id, 3)).toEqual({ server: 'cancelled', eval: 'cancelled', report: 'cancelled' })
  expect(existsSync(join(dir, 'launches', id, 'endpoint.json'))).toBe(false)
})

test('the same launch goes through SkyPilot, with a sky command that runs its tasks here', () => {
  const dir = join(scratch, 'sky')
  installSky(join(scratch, 'sky-bin'))
  const file = join(scratch, 'pods.yaml')
  const facts = ['name: pods', 'summary: x', 'scheduler: skypilot', 'nodes: 2', 'gpus_per_node: 0', 'cpus_per_node: 2']
  writeFileSync(
    file,
    [...facts, 'internet_on_compute_nodes: true', 'sky: { resources: { infra: kubernetes } }'].join('\n'),
  )
  const words = ['--job-type', 'datagen', '--datagen-script', 'data/nl2bash/generate.ts']
  const args = ['--datagen-extra-args', '--limit 2 --no-check --source fixture']
  const target = ['--datagen-target-repo', `file:${join(scratch, 'sky-published')}`]
  const sent = ot('launch', '--cluster', file, '--experiments-dir', dir, ...words, ...args, ...target)
  expect(sent.status, sent.stderr).toBe(0)
  expect(watch(dir, sent.stdout.trim(), 0)).toEqual({ tasks: 'done', 'upload-tasks': 'done' })
  expect(readdirSync(join(dir, 'outputs/tasks/tasks'))).toHaveLength(2)
  expect(ot('launch', 'logs', sent.stdout.trim(), '--experiments-dir', dir).stdout).toContain('2 tasks of 2 rows')
})

function launch(dir: string, ...words: string[]): string {
  return submit(dir, '--job-type', 'datagen', '--datagen-script', 'data/nl2bash/generate.ts', ...words)
}

function submit(dir: string, ...words: string[]): string {
  const { status, stdout, stderr } = ot('launch', '--cluster', 'local', '--experiments-dir', dir, ...words)
  expect(status, stderr).toBe(0)
  return stdout.trim()
}

function watch(dir: string, id: string, code: number): Record<string, string> {
  const { status, stdout, stderr } = ot('launch', 'watch', id, '--experiments-dir', dir, '--every', '1', '--json')
  expect(status, stderr).toBe(code)
  const { jobs } = JSON.parse(stdout) as { jobs: { job: string; state: string }[] }
  return Object.fromEntries(jobs.map(({ job, state }) => [job, state]))
}

function ot(...words: string[]) {
  const env = { ...process.env, XDG_CACHE_HOME: cache, PATH: `${join(scratch, 'sky-bin')}:${process.env.PATH}` }
  return spawnSync(process.execPath, ['bin/ot-agent.js', ...words], { encoding: 'utf8', env })
}
