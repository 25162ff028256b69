import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { HubStandIn } from '../fakes/hub/server.ts'
import { needs } from '../needs.ts'
import { type SlurmCluster, startSlurm, until } from '../slurm-cluster.ts'
import {
  countRows,
  engineFor,
  facts,
  filesWith,
  idOf,
  idsOf,
  logsOf,
  oracleOver,
  program,
  rowsIn,
  slowTasks,
  startHeldJobs,
  states,
  trainingFacts,
  trialsIn,
} from '../slurm-launches.ts'

const { skip, meta } = needs('slurmctld', 'slurmd', 'munged', 'bwrap')
const cannotSandbox = missingPrograms().length > 0 || process.getuid?.() !== 0

describe('launches on a real Slurm cluster of four nodes', { skip: skip || cannotSandbox, meta }, () => {
  const scratch = mkdtempSync(join(tmpdir(), 'ot-slurm-'))
  const clusterFile = join(scratch, 'loop.yaml')
  const trainingFile = join(scratch, 'training.yaml')
  let slurm: SlurmCluster
  let hub: HubStandIn
  let secret: string

  beforeAll(async () => {
    slurm = await startSlurm(join(scratch, 'slurm'))
    hub = await HubStandIn.start()
    secret = hub.token
    writeFileSync(clusterFile, facts)
    writeFileSync(trainingFile, trainingFacts(hub.url, join(scratch, 'ray')))
    writeFileSync(join(scratch, 'keys.env'), `export HF_TOKEN=${secret}\n`, { mode: 0o600 })
    const known = join(scratch, 'known')
    ot('generate', 'data/nl2bash/generate.ts', '--limit', '2', '--no-check', '--output-dir', known)
    writeFileSync(join(scratch, 'engine.yaml'), engineFor(join(known, 'tasks')))
  })
  afterAll(async () => {
    await slurm?.stop()
    hub?.close()
    rmSync(scratch, { recursive: true, force: true })
  })

  test('tasks and traces in parts are made against two servers on two nodes, joined and published, and no key is written anywhere', async () => {
    const dir = join(scratch, 'datagen')
    const id = launch(
      dir,
      ...['--job-type', 'datagen', '--datagen-script', 'data/nl2bash/generate.ts'],
      ...['--datagen-target-repo', `file:${join(scratch, 'published-tasks')}`],
      ...['--datagen-config', join(scratch, 'engine.yaml'), '--chunk-size', '1'],
      ...['--datagen-extra-args', '--stage both --limit 2 --source fixture'],
      ...['--trace-target-repo', `file:${join(scratch, 'published-traces')}`],
    )
    const { jobs, units } = await watch(dir, id)
    expect(states(jobs), logsOf(dir)).toEqual({
      server: 'done',
      tasks: 'done',
      traces: 'done',
      'upload-tasks': 'done',
      join: 'done',
      'upload-traces': 'done',
    })
    expect(units.filter(({ job }: { job: string }) => job === 'traces')).toHaveLength(2)
    expect(readdirSync(join(dir, 'outputs/tasks/tasks'))).toHaveLength(2)
    expect(await rowsIn(join(scratch, 'published-traces/data/*.parquet'))).toBe(2)
    expect(logsOf(dir, 20_000)).toMatch(/serving stand-in at http:\/\/\S+\/v1, http:\/\/\S+\/v1/)
    // Servers publish their address only while they respond.
    expect(readdirSync(join(dir, 'launches', id)).filter((name) => name.startsWith('endpoint.json'))).toEqual([])
    expect(filesWith(dir, secret)).toEqual([])
    expect(filesWith(join(slurm.dir, 'state'), secret)).toEqual([])
    expect(slurm.slurm('scontrol', 'show', 'jobs')).not.toContain(secret)
  })

  test('a model is served and scored on a benchmark, attempt by attempt', async () => {
    const dir = join(scratch, 'eval')
    const words = ['--job-type', 'eval', '--eval-benchmark', join(scratch, 'known/tasks')]
    const engine = ['--datagen-config', join(scratch, 'engine.yaml'), '--set', 'vllm_server.num_replicas=1']
    const id = launch(dir, ...words, ...engine, '--eval-model', 'stand-in', '--eval-n-attempts', '2')
    const { jobs } = await watch(dir, id)
    expect(states(jobs), logsOf(dir)).toEqual({ server: 'done', eval: 'done', report: 'done' })
    expect(trialsIn(join(dir, 'outputs/eval'))).toHaveLength(4)
    const report = join(dir, 'outputs/eval/stand-in_tasks/eval-report.json')
    expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({
      schema: 'eval-report/2',
      runs: [{ state: 'complete', accuracy: { tasks: 2, trials: 4 }, trials: { scored: 4, failed: 0, cancelled: 0 } }],
    })
  })

  test('on nodes without internet model and data are fetched first; tokens, training on two nodes, one model, published', async () => {
    const dir = join(scratch, 'sft')
    hub.repo('models/org/base').put('config.json', '{"model_type":"base"}')
    hub.repo('org/traces-stand-in').put('data/train.jsonl', '{}\n')
    const words = ['--job-type', 'sft', '--base-model', 'org/base', '--dataset', 'org/traces-stand-in', '--pretokenize']
    const more = ['--num-nodes', '2', '--global-batch-size', '96', '--consolidate-output-repo', 'me/whole']
    const id = await launchTraining(dir, ...words, ...more)
    const { jobs } = await watch(dir, id)
    const done = ['download', 'pretokenize', 'train', 'consolidate', 'upload'].map((job) => [job, 'done'])
    expect(states(jobs), logsOf(dir)).toEqual(Object.fromEntries(done))
    const files = hub.repo('models/me/whole').commit('main')?.files
    expect(files?.get('model.safetensors')?.data.toString()).toBe('shard 0')
    const summary = JSON.parse(files?.get('run_summary.json')?.data.toString() ?? '')
    expect(summary).toMatchObject({
      ...{ base_model_name: 'org/base', dataset_name: 'org/traces-stand-in', agent_name: 'stand-in' },
      ...{ training_type: 'SFT', exit_status: 0, runs: [{ exit_code: 0, reason: null }] },
      trainer: { global_step: 2, epoch: 7, last_loss: 0.25, results: { train_loss: 0.25, train_runtime: 12.5 } },
    })
    expect(summary.runs[0].job_id).toBe(idOf(dir, id, 'train'))
    expect(Date.parse(summary.training_end)).toBeGreaterThanOrEqual(Date.parse(summary.training_start))
    expect(logsOf(dir)).toContain('node 1 of 2')
    expect(filesWith(dir, secret)).toEqual([])
  })

  test('reinforcement unpacks its tasks, brings up Ray over two nodes, resumes after its restart and publishes the newest export', async () => {
    const dir = join(scratch, 'rl')
    const parquet = join(scratch, 'tasks.parquet')
    ot('tasks', 'pack', join(scratch, 'known/tasks'), '--out', parquet)
    const words = ['--job-type', 'rl', '--model-path', '/models/base', '--train-data', parquet, '--num-nodes', '2']
    words.push('-S', 'trainer.train_batch_size=1')
    const target = join(scratch, 'published-policy')
    const id = await launchTraining(dir, ...words, '--max-restarts', '1', '--hf-repo-name', `file:${target}`)
    const { jobs } = await watch(dir, id)
    expect(states(jobs), logsOf(dir)).toEqual({ data: 'done', train: 'done', upload: 'done' })
    expect(JSON.parse(readFileSync(join(target, 'config.json'), 'utf8'))).toEqual({ step: 10 })
    const [name = ''] = readdirSync(join(dir, 'checkpoints'))
    const summary = JSON.parse(readFileSync(join(dir, 'checkpoints', name, 'run_summary.json'), 'utf8'))
    expect(summary).toMatchObject({ training_type: 'RL', exit_status: 0, runs: [{ exit_code: 9 }, { exit_code: 0 }] })
    const calls = readFileSync(join(scratch, 'ray/calls'), 'utf8').split('\n')
    const started = calls.filter((line) => / (start|stop) /.test(line)).map((line) => line.replaceAll(/\d{5}/g, 'PORT'))
    const [head, worker, ...stops] = started.slice(0, started.length / 2)
    expect(head).toMatch(/^(n\d) start --head --port=PORT --num-gpus=1 --block$/)
    expect(worker).toMatch(/^(n\d) start --address=n\d:PORT --num-gpus=1 --block$/)
    // Even after the failed run, and on both nodes.
    expect(stops.map((line) => line.slice(3))).toEqual(['stop --force', 'stop --force'])
    expect(new Set(stops)).toEqual(
      new Set([`${head?.slice(0, 2)} stop --force`, `${worker?.slice(0, 2)} stop --force`]),
    )
    expect(readdirSync(join(scratch, 'ray/nodes'))).toEqual([])
  })

  test('a recipe in 20 shards loses a node in the middle, and every row exists exactly once', async () => {
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
  })

  // Each of the three needs a node of its own.
  test.concurrent('a job that runs out of time stops, resumes in its restarts and ends the chain when it is done', async () => {
    const dir = join(scratch, 'chain')
    const tasks = await slowTasks(join(scratch, 'slow-chain'), 5, 7)
    const id = launch(dir, ...oracleOver(tasks), '--time-limit', '00:01:00', '--stop-sec', '45', '--max-restarts', '6')
    const { jobs } = await watch(dir, id)
    expect(states(jobs), logsOf(dir)).toEqual({ traces: 'done' })
    expect(logsOf(dir)).toContain('told to stop: time-limit')
    expect(trialsIn(join(dir, 'trace_jobs'))).toHaveLength(5)
    const ids = idsOf(dir, id).join(',')
    const ends = () => slurm.slurm('squeue', '-h', '--states=all', '-o', '%T %r', `--jobs=${ids}`).trim().split('\n')
    await until('the rest of the chain to be cancelled', () => ends().includes('CANCELLED DependencyNeverSatisfied'))
    expect(ends().filter((line) => /^(FAILED|TIMEOUT)/.test(line)).length).toBeGreaterThan(0)
    await until('nothing to wait any more', () => !ends().some((line) => line.startsWith('PENDING')))
  })

  test.concurrent('what depends on a job that failed is never run', async () => {
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
  })

  test.concurrent('a launch that was cancelled is finished by resume, and nothing is done twice', async () => {
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
  })

  test.concurrent('a server ends when the only job that needs it is cancelled', async () => {
    const dir = join(scratch, 'cancelled-eval')
    const tasks = await slowTasks(join(scratch, 'slow-eval'), 1, 600)
    const words = [
      '--job-type',
      'eval',
      '--eval-benchmark',
      tasks,
      '--eval-agent',
      'oracle',
      '--eval-model',
      'stand-in',
    ]
    const engine = ['--datagen-config', join(scratch, 'engine.yaml'), '--set', 'vllm_server.num_replicas=1']
    const id = launch(dir, ...words, ...engine)
    await until('the server', () => existsSync(join(dir, 'launches', id, 'endpoint.json')), 90)
    ot('launch', 'cancel', id, '--job', 'eval', '--experiments-dir', dir)
    const { jobs } = await watch(dir, id, undefined, 3)
    expect(states(jobs), logsOf(dir)).toEqual({ server: 'cancelled', eval: 'cancelled', report: 'cancelled' })
    expect(existsSync(join(dir, 'launches', id, 'endpoint.json'))).toBe(false)
  })

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

  /** A launch that may contact the stand-in for the Hub, which runs in this process. */
  async function launchTraining(dir: string, ...words: string[]): Promise<string> {
    const args = ['launch', '--cluster', trainingFile, '--experiments-dir', dir, ...words]
    const child = spawn(process.execPath, [program, ...args], { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] })
    let [out, news] = ['', '']
    child.stdout.on('data', (chunk) => {
      out += chunk
    })
    child.stderr.on('data', (chunk) => {
      news += chunk
    })
    expect(await new Promise((done) => child.once('close', done)), news).toBe(0)
    return out.trim()
  }

  /** Follows a launch to its end, and calls `meanwhile` every second. */
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
