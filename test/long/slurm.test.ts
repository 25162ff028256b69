import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SqlDatabase } from '../../src/lib/duckdb.ts'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { passingSolve, writeTask } from '../fakes/tasks.ts'
import { needs } from '../needs.ts'
import { type SlurmCluster, startSlurm, until } from '../slurm-cluster.ts'

const program = resolve('bin/ot-agent.js')
const secret = 'planted-secret-0123456789'
const { skip, meta } = needs('slurmctld', 'slurmd', 'munged', 'bwrap')
const cannotSandbox = missingPrograms().length > 0 || process.getuid?.() !== 0

describe('launches on a real Slurm cluster of four nodes', { skip: skip || cannotSandbox, meta }, () => {
  const scratch = mkdtempSync(join(tmpdir(), 'ot-slurm-'))
  const clusterFile = join(scratch, 'loop.yaml')
  let slurm: SlurmCluster

  beforeAll(async () => {
    slurm = await startSlurm(join(scratch, 'slurm'))
    writeFileSync(clusterFile, facts)
    writeFileSync(join(scratch, 'keys.env'), `export HF_TOKEN=${secret}\n`, { mode: 0o600 })
  })
  afterAll(async () => {
    await slurm?.stop()
    rmSync(scratch, { recursive: true, force: true })
  })

  test('tasks and traces are made against a model that the launch serves, published, and no key is written anywhere', async () => {
    const dir = join(scratch, 'datagen')
    const known = join(scratch, 'known')
    ot('generate', 'data/nl2bash/generate.ts', '--limit', '2', '--no-check', '--output-dir', known)
    writeFileSync(join(scratch, 'engine.yaml'), engineFor(join(known, 'tasks')))
    const id = launch(
      dir,
      '--job-type',
      'datagen',
      '--datagen-script',
      'data/nl2bash/generate.ts',
      ...[
        ...[
          '--datagen-target-repo',
          `file:${join(scratch, 'published-tasks')}`,
          '--datagen-config',
          join(scratch, 'engine.yaml'),
        ],
        ...[
          '--datagen-extra-args',
          '--stage both --limit 2',
          '--trace-target-repo',
          `file:${join(scratch, 'published-traces')}`,
        ],
      ],
    )
    const { jobs } = await watch(dir, id)
    expect(states(jobs), logsOf(dir)).toEqual({
      server: 'done',
      tasks: 'done',
      traces: 'done',
      'upload-tasks': 'done',
      'upload-traces': 'done',
    })
    expect(readdirSync(join(dir, 'outputs/tasks/tasks'))).toHaveLength(2)
    expect(existsSync(join(scratch, 'published-traces', 'data'))).toBe(true)
    // The server says where it is only while it answers.
    expect(existsSync(join(dir, 'launches', id, 'endpoint.json'))).toBe(false)
    expect(filesWith(dir, secret)).toEqual([])
    expect(filesWith(join(slurm.dir, 'state'), secret)).toEqual([])
    expect(slurm.slurm('scontrol', 'show', 'jobs')).not.toContain(secret)
  }, 300_000)

  test('a model is served and scored on a benchmark, attempt by attempt', async () => {
    const dir = join(scratch, 'eval')
    const words = [
      '--job-type',
      'eval',
      '--eval-benchmark',
      join(scratch, 'known/tasks'),
      '--datagen-config',
      join(scratch, 'engine.yaml'),
    ]
    const id = launch(dir, ...words, '--eval-model', 'stand-in', '--eval-n-attempts', '2')
    const { jobs } = await watch(dir, id)
    expect(states(jobs), logsOf(dir)).toEqual({ server: 'done', eval: 'done', report: 'done' })
    expect(trialsIn(join(dir, 'outputs/eval'))).toHaveLength(4)
    expect(JSON.parse(readFileSync(join(dir, 'outputs/eval/stand-in_tasks/eval-report.json'), 'utf8'))).toBeTypeOf(
      'object',
    )
  }, 300_000)

  test('a recipe in 20 shards loses a node in the middle, and every row is there once', async () => {
    const dir = join(scratch, 'recipe')
    cpSync('test/fixtures/launch/recipe.ts', join(scratch, 'recipe.ts'))
    const id = launch(
      dir,
      '--job-type',
      'recipe',
      '--recipe',
      join(scratch, 'recipe.ts'),
      '--shards',
      '20',
      ...['--recipe-extra-args', '--set puzzles.count=600 --shard-rows 30'],
    )
    await until('a shard on the node that is to die', () =>
      /RUNNING n2$/m.test(slurm.slurm('squeue', '-h', '-o', '%T %N')),
    )
    await slurm.killNode('n2')
    const { jobs, units } = await watch(dir, id, () => startHeldJobs(slurm))
    expect(states(jobs), logsOf(dir)).toEqual({ '01-puzzles': 'done', finish: 'done' })
    expect(units.filter(({ job }: { job: string }) => job === '01-puzzles')).toHaveLength(20)
    expect(slurm.slurm('sinfo', '-h', '-n', 'n2', '-o', '%T')).toMatch(/^down/)
    expect(await countRows(join(dir, 'outputs/recipe'))).toEqual({ rows: 600, distinct: 600 })
  }, 400_000)

  test('a job that runs out of time stops, goes on in its restarts and ends the chain when it is done', async () => {
    const dir = join(scratch, 'chain')
    const tasks = await slowTasks(join(scratch, 'slow-chain'), 8, 7)
    const id = launch(dir, ...oracleOver(tasks), '--time-limit', '00:01:00', '--stop-sec', '45', '--max-restarts', '6')
    const { jobs } = await watch(dir, id)
    expect(states(jobs), logsOf(dir)).toEqual({ traces: 'done' })
    expect(logsOf(dir)).toContain('told to stop: time-limit')
    expect(trialsIn(join(dir, 'trace_jobs'))).toHaveLength(8)
    const ids = idsOf(dir, id).join(',')
    const ends = () => slurm.slurm('squeue', '-h', '--states=all', '-o', '%T %r', `--jobs=${ids}`).trim().split('\n')
    await until('the rest of the chain to be cancelled', () => ends().includes('CANCELLED DependencyNeverSatisfied'))
    expect(ends().filter((line) => /^(FAILED|TIMEOUT)/.test(line)).length).toBeGreaterThan(0)
    await until('nothing to wait any more', () => !ends().some((line) => line.startsWith('PENDING')))
  }, 400_000)

  test('what depends on a job that failed is never run', async () => {
    const dir = join(scratch, 'failing')
    const id = launch(
      dir,
      '--job-type',
      'datagen',
      '--datagen-script',
      'data/nl2bash/generate.ts',
      ...[...['--datagen-extra-args', '--no-upload --no-such-option', '--enable-trace-gen']],
    )
    const { jobs } = await watch(dir, id, undefined, 3)
    expect(states(jobs)).toEqual({ tasks: 'failed', traces: 'cancelled' })
    expect(existsSync(join(dir, 'trace_jobs'))).toBe(false)
    expect(ot('launch', 'logs', id, '--job', 'tasks', '--experiments-dir', dir)).toContain('--no-such-option')
  }, 120_000)

  test('a launch that was cancelled is finished by resume, and nothing is done twice', async () => {
    const dir = join(scratch, 'cancelled')
    const tasks = await slowTasks(join(scratch, 'slow-cancel'), 4, 4)
    const id = launch(dir, ...oracleOver(tasks))
    await until('a trial that is done', () => trialsIn(join(dir, 'trace_jobs')).length > 0, 90)
    ot('launch', 'cancel', id, '--experiments-dir', dir)
    const before = (await watch(dir, id, undefined, 3)).jobs
    expect(states(before)).toEqual({ traces: 'cancelled' })
    const finished = trialsIn(join(dir, 'trace_jobs'))
    ot('launch', 'resume', id, '--experiments-dir', dir)
    expect(states((await watch(dir, id)).jobs), logsOf(dir)).toEqual({ traces: 'done' })
    expect(trialsIn(join(dir, 'trace_jobs'))).toHaveLength(4)
    expect(trialsIn(join(dir, 'trace_jobs'))).toEqual(expect.arrayContaining(finished))
    expect(ot('launch', 'list', '--experiments-dir', dir)).toContain(id)
  }, 300_000)

  function ot(...words: string[]): string {
    const done = spawnSync(process.execPath, [program, ...words], { env: environment(), encoding: 'utf8' })
    if (done.status !== 0) throw new Error(`ot-agent ${words.join(' ')}: ${done.stderr}`)
    return done.stdout
  }

  function environment(): NodeJS.ProcessEnv {
    return { ...slurm.env, DC_AGENT_SECRET_ENV: join(scratch, 'keys.env'), HF_TOKEN: secret }
  }

  function launch(dir: string, ...words: string[]): string {
    return ot('launch', '--cluster', clusterFile, '--experiments-dir', dir, ...words).trim()
  }

  /** Follows a launch to its end, and does something every second meanwhile. */
  async function watch(dir: string, id: string, meanwhile?: () => void, code = 0) {
    const args = [program, 'launch', 'watch', id, '--experiments-dir', dir, '--every', '1', '--json']
    const child = spawn(process.execPath, args, { env: environment(), stdio: ['ignore', 'pipe', 'inherit'] })
    const timer = meanwhile && setInterval(meanwhile, 1000)
    let out = ''
    child.stdout.on('data', (chunk) => {
      out += chunk
    })
    const ended = await new Promise<number | null>((done) => child.once('close', done))
    clearInterval(timer)
    expect(ended, logsOf(dir)).toBe(code)
    return JSON.parse(out)
  }
})

const facts = `name: loop
summary: Four nodes on loopback
nodes: 4
gpus_per_node: 0
gpu_request: none
cpus_per_node: 8
memory_per_node_gb: 3
internet_on_compute_nodes: true
time_limit: '00:10:00'
partition: main
`

/** A stand-in that plays the known solutions, where a model server would stand. */
function engineFor(tasks: string): string {
  const command = [process.execPath, program, 'serve', '--engine', 'scripted', '-m', 'stand-in', '--tasks', tasks]
  return JSON.stringify({
    engine: { type: 'vllm_local', model: 'stand-in', vllm_local: { endpoint_json: 'unused.json' } },
    backend: { type: 'vllm', healthcheck_max_attempts: 90, healthcheck_retry_delay: 1 },
    vllm_server: { command, model_path: 'stand-in' },
  })
}

function oracleOver(tasks: string): string[] {
  const words = [
    '--job-type',
    'datagen',
    '--enable-task-gen',
    'false',
    '--enable-trace-gen',
    '--trace-input-path',
    tasks,
  ]
  return [...words, '--trace-agent-name', 'oracle', '--trace-n-concurrent', '1', '--trace-eval-only']
}

async function slowTasks(dir: string, count: number, sec: number): Promise<string> {
  for (let i = 0; i < count; i++) await writeTask(dir, `slow-${i}`, { solve: `sleep ${sec}\n${passingSolve}` })
  return dir
}

function states(jobs: readonly { job: string; state: string }[]): Record<string, string> {
  return Object.fromEntries(jobs.map(({ job, state }) => [job, state]))
}

/** A requeued job is held back for minutes; nobody wants to wait for that here. */
function startHeldJobs(slurm: SlurmCluster): void {
  for (const line of slurm.slurm('squeue', '-h', '--array', '-o', '%i %T %r').split('\n')) {
    const [job = '', state, reason] = line.split(' ')
    if (state === 'PENDING' && reason === 'BeginTime')
      slurm.slurm('scontrol', 'update', `jobid=${job}`, 'StartTime=now')
  }
}

async function countRows(out: string): Promise<{ rows: number; distinct: number }> {
  await using sql = await SqlDatabase.open({ memoryMb: 256, threads: 1, tempDir: join(out, 'count') })
  const [found] = await sql.rows(
    `SELECT count(*) AS rows, count(DISTINCT name) AS names FROM read_parquet('${out}/stages/puzzles-*/part-*.parquet')`,
  )
  return { rows: Number(found?.rows), distinct: Number(found?.names) }
}

function trialsIn(jobs: string): string[] {
  if (!existsSync(jobs)) return []
  const names = readdirSync(jobs, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => /\/[^/]+__[^/]+\/record\.json$/.test(`/${name}`)).sort()
}

function idsOf(dir: string, id: string): string[] {
  const lines = readFileSync(join(dir, 'launches', id, 'submitted.jsonl'), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line) => String(JSON.parse(line).id))
}

function logsOf(dir: string): string {
  const logs = join(dir, 'logs')
  if (!existsSync(logs)) return ''
  return readdirSync(logs)
    .map((name) => `== ${name}\n${readFileSync(join(logs, name), 'utf8').slice(-1500)}`)
    .join('\n')
}

/** Files below a directory that hold a text. */
function filesWith(dir: string, text: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(dir, name)
    return statSync(path).isFile() && readFileSync(path).includes(text)
  })
}
