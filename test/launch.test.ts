import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { runCommand } from '../src/app/flags/command.ts'
import { loadClusterFile } from '../src/app/launch/clusters.ts'
import { clusterSettings, makeLaunch } from '../src/app/launch/make-launch.ts'
import { renderPlan } from '../src/app/launch/plan-launch.ts'
import { settingSpecs } from '../src/app/launch/schema.ts'
import { submitLaunch } from '../src/app/launch/submit-launch.ts'
import { renderLaunch } from '../src/cli/launch/print-launch.ts'
import launchCommand from '../src/cli/launch.ts'
import { UserError } from '../src/core/errors.ts'
import type { Launch } from '../src/core/launch.ts'
import { defaultAgent, defaultJobConfig, renderJobConfig } from '../src/formats/harbor-job/job-config.ts'
import { renderPieces } from '../src/run/launch/pieces.ts'
import { planTraining } from '../src/run/launch/plan-training.ts'
import { Settings } from '../src/run/launch/settings.ts'
import { acquireOwner } from '../src/store/job-owner.ts'
import { catchPrinted } from './printed.ts'

/** UPDATE_GOLDEN=1 npx vitest run test/launch.test.ts rewrites the files. */
const isUpdating = process.env.UPDATE_GOLDEN === '1'
const fixtures = 'test/fixtures/launch'
// The log target of reinforcement learning depends on whether there is a Weights & Biases key.
delete process.env.WANDB_API_KEY

// No test here contacts the Hub.
beforeEach(() => void vi.stubEnv('HF_HUB_OFFLINE', '1'))

const datagen = {
  job_type: 'datagen',
  datagen_script: 'data/nl2bash/generate.ts',
  datagen_target_repo: 'org/tasks',
  datagen_engine: 'vllm_local',
  datagen_extra_args: '--limit 200',
  enable_trace_gen: true,
  trace_target_repo: 'org/traces',
  trace_agent_kwargs: '{"note": "it\'s $HOME"}',
}

const cases: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  datagen: { ...datagen, max_restarts: 2 },
  chunks: {
    ...datagen,
    chunk_size: 50,
    set: ['vllm_server.tensor_parallel_size=4', 'vllm_server.pipeline_parallel_size=2'],
  },
  replicas: {
    ...datagen,
    datagen_extra_args: '--limit 200 --no-upload',
    set: ['vllm_server.tensor_parallel_size=2', 'vllm_server.num_replicas=6'],
  },
  recipe: {
    job_type: 'recipe',
    recipe: 'test/fixtures/launch/recipe.ts',
    shards: 20,
    array_max: 5,
    time_limit: '02:00:00',
  },
}

const trainingCases: typeof cases = {
  sft: {
    job_type: 'train',
    train_config_path: 'configs/sft/qwen3-8b.yaml',
    dataset: 'org/dataset',
    num_nodes: 4,
    max_restarts: 1,
  },
  'sft-pretokenize': {
    ...{
      job_type: 'sft',
      train_config_path: 'qwen3-8b-fsdp2',
      dataset: 'org/dataset',
      pretokenize: true,
      image: '/images/train.sif',
    },
    ...{
      train_extra_args: '--learning_rate 2e-5 --packing',
      num_gpus: 1,
      global_batch_size: '16',
      per_device_train_batch_size: '1',
    },
  },
  pretokenize: { job_type: 'pretokenize', train_config_path: 'qwen3-8b', dataset: 'org/dataset' },
  consolidate: { job_type: 'consolidate', consolidate_input: '/ckpt/run 1', consolidate_output_repo: 'org/model' },
  'consolidate-hub': {
    job_type: 'consolidate',
    consolidate_input: 'org/sharded',
    consolidate_base_repo: 'org/base',
    consolidate_output_repo: 'org/model',
  },
  rl: {
    ...{
      job_type: 'rl',
      model_path: 'Qwen/Qwen3-8B',
      train_data: ['org/nl2bash', '/data/tasks.parquet'],
      val_data: ['/data/val'],
    },
    ...{
      num_nodes: 4,
      skyrl: ['trainer.epochs=2'],
      enable_hf_upload: true,
      hf_repo_name: 'org/rl-model',
      max_restarts: 1,
    },
  },
  eval: { job_type: 'eval', eval_benchmark: 'org/benchmark', eval_model: 'org/model' },
}

const clusterFiles = readdirSync('clusters').map((name) => join('clusters', name))

describe.each(clusterFiles)('%s', (file) => {
  test.each(Object.keys(cases))('%s is rendered as it was, or refused', async (name) => {
    await expectPlan(file, name, cases[name] ?? {})
  })
})

/** Training needs GPUs; a cluster without them must refuse it. */
describe.each(clusterFiles)('training on %s', (file) => {
  test.each(Object.keys(trainingCases))('%s is rendered as it was, or refused', async (name) => {
    await expectPlan(file, name, trainingCases[name] ?? {})
  })
})

test('planning asks for an account where one is needed, and refuses what a cluster or a server lacks', async () => {
  const { cluster } = await loadClusterFile('clusters/vista.yaml')
  const make = (values: Readonly<Record<string, unknown>>) => {
    const layers = [
      { origin: `cluster ${cluster.name}`, values: clusterSettings(cluster) },
      { origin: 'flag', values: { experiments_dir: '/exp', ...values } },
    ]
    const place = { cluster, stamp: '1', cwd: '/work', program: ['ot-agent'], secretsFile: null }
    return makeLaunch(new Settings(settingSpecs, layers), place)
  }
  await expect(make({ ...datagen })).rejects.toThrow('vista: expected an account to charge, got none')
  expect((await make({ ...datagen, dry_run: true })).notes.join()).toContain('expected an account to charge')
  const named = { account: 'my-project' }
  await expect(
    make({
      ...named,
      ...trainingCases.sft,
      num_nodes: 553,
      global_batch_size: '553',
      per_device_train_batch_size: '1',
    }),
  ).rejects.toThrow('job train asks for 553 nodes, but vista has 552')
  await expect(make({ ...named, job_type: 'eval', eval_benchmark: 'org/benchmark' })).rejects.toThrow(
    'expected a model to evaluate, got none',
  )
  const asked = JSON.stringify({ model_info: { max_input_tokens: 9000 } })
  const set = ['vllm_server.max_model_len=8192']
  await expect(make({ ...named, ...datagen, set, trace_agent_kwargs: asked })).rejects.toThrow(
    '--trace-agent-kwargs: model_info.max_input_tokens asks for 9000 tokens, but the server takes 8192',
  )
  const extra = { set, eval_extra_args: `--ak 'model_info=${asked.slice(14, -1)}'` }
  await expect(make({ ...named, ...trainingCases.eval, ...extra })).rejects.toThrow('--eval-extra-args: model_info')
})

test('where a place with internet is named, downloads and uploads are jobs there, and others wait for them', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'launch-')), 'mine.yaml')
  const there = readFileSync('clusters/leonardo.yaml', 'utf8')
  writeFileSync(file, `${there}\ninternet_jobs: { partition: serial, qos: normal }\n`)
  const values = { ...trainingCases.sft, consolidate_output_repo: 'org/model' }
  const { text, launch } = await planned(file, values)
  const places = launch.jobs.map(({ name, place }) => [name, place])
  expect(places).toEqual([
    ['download', 'internet'],
    ['train', null],
    ['consolidate', null],
    ['upload', 'internet'],
  ])
  expect(text.match(/--partition=serial\n#SBATCH --qos=normal/g)).toHaveLength(2)
  expect(text).toContain('--dependency=afterok:<download>')
})

test('a run that is recorded offline is sent in a job with internet, or the launch says how to', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'launch-')), 'mine.yaml')
  writeFileSync(file, `${readFileSync('clusters/leonardo.yaml', 'utf8')}\ninternet_jobs: { partition: serial }\n`)
  const values = { ...trainingCases.sft, report_to: 'wandb' }
  const { launch } = await planned(file, values)
  const sync = launch.jobs.find(({ name }) => name === 'sync')
  expect(sync).toMatchObject({ place: 'internet', after: [{ job: 'train', when: 'ok' }] })
  expect(sync?.script.flatMap(({ lines }) => lines)).toEqual(
    expect.arrayContaining([`kept="\${WANDB_DIR:-$kept}"`, `run env -u WANDB_MODE wandb sync "\${runs[@]}"`]),
  )
  const without = await planned('clusters/leonardo.yaml', values)
  expect(without.launch.jobs.map(({ name }) => name)).not.toContain('sync')
  expect(without.text).toMatch(/after training, run wandb sync \/exp\/launches\/\S+\/wandb\/offline-run-\*/)
  vi.stubEnv('WANDB_API_KEY', 'not-a-key-of-anyone')
  const rl = await planned(file, trainingCases.rl ?? {})
  vi.stubEnv('WANDB_API_KEY', undefined)
  expect(rl.launch.jobs.map(({ name }) => name)).toContain('sync')
  expect((await planned(file, trainingCases.rl ?? {})).launch.jobs.map(({ name }) => name)).not.toContain('sync')
  expect((await planned('clusters/vista.yaml', values)).launch.jobs.map(({ name }) => name)).not.toContain('sync')
})

test('the job that publishes a model also registers it, where there is a registry', async () => {
  const { launch } = await planned('clusters/vista.yaml', trainingCases.rl ?? {})
  const upload = launch.jobs.find(({ name }) => name === 'upload')?.script.flatMap(({ lines }) => lines) ?? []
  const publish = upload.findIndex((line) => line.includes('hub upload'))
  const check = upload.findIndex((line) => line.startsWith('if [ -n') && line.includes('OT_AGENT_REGISTRY'))
  expect(publish).toBeGreaterThan(0)
  expect(check).toBeGreaterThan(publish)
  expect(upload[check + 1]).toMatch(/registry ingest \S+\/run_summary\.json --weights org\/rl-model \|\| note/)
})

test('a server ends with its users, and also when something before them failed for good', async () => {
  const consumers = async (values: Readonly<Record<string, unknown>>) =>
    (await planned('clusters/vista.yaml', values)).text.match(/^ {2}consumer \S+/gm)?.map((line) => line.slice(11))
  const { datagen_engine: engine, ...noEngine } = datagen
  expect(await consumers(datagen)).toEqual(['tasks', 'traces'])
  expect(await consumers({ ...noEngine, trace_engine: engine })).toEqual(['traces', 'tasks'])
  expect(await consumers({ job_type: 'datagen', tasks_repo: 'org/tasks', trace_engine: engine })).toEqual([
    'traces',
    'fetch',
  ])
  expect(await consumers(trainingCases.eval ?? {})).toEqual(['eval', 'fetch'])
})

test('launches below one directory write none of the files that jobs of another read', async () => {
  const written = async (values: Readonly<Record<string, unknown>>, stamp: string) =>
    Object.keys((await planned('clusters/vista.yaml', values, stamp)).launch.files)
  for (const values of [datagen, trainingCases.sft ?? {}, trainingCases.rl ?? {}, trainingCases.eval ?? {}]) {
    const first = await written(values, '1')
    expect(first.length).toBeGreaterThan(0)
    expect(first.filter((path) => !path.startsWith('configs/'))).toEqual([])
    expect((await written(values, '2')).filter((path) => first.includes(path))).toEqual([])
  }
})

test('reinforcement on fewer tasks than a batch takes is refused, and the hint makes it start', async () => {
  const values = { job_type: 'rl', model_path: 'Qwen/Qwen3-8B', train_data: ['examples/tasks'] }
  const refused = await planned('clusters/vista.yaml', values).catch((error: unknown) => error)
  if (!(refused instanceof UserError)) throw new Error('expected a UserError')
  expect(refused.message).toMatch(/expected at least 64 tasks, one batch of harbor.yaml, got 11/)
  const skyrl = [...refused.hint.matchAll(/-S (\S+)/g)].map(([, setting]) => setting)
  const { text } = await planned('clusters/vista.yaml', { ...values, skyrl })
  expect(text).toContain('trainer.train_batch_size=11')
})

test('tasks of two places that have one name are never unpacked into one folder', async () => {
  const rl = { job_type: 'rl', model_path: 'Qwen/Qwen3-8B', rl_config: 'harbor' }
  const dirsOf = async (values: Readonly<Record<string, unknown>>) => {
    const { text } = await planned('clusters/vista.yaml', values)
    return [...text.matchAll(/--out (\S+)/g)].map(([, dir = '']) => dir)
  }
  const files = await dirsOf({ ...rl, train_data: ['/a/tasks.parquet'], val_data: ['/b/tasks.parquet'] })
  expect(files.map((dir) => basename(dir))).toEqual(['tasks', 'tasks'])
  expect(new Set(files).size).toBe(2)
  const repositories = await dirsOf({ ...rl, train_data: ['org/tasks'], val_data: ['lab/tasks'] })
  expect(new Set(repositories).size).toBe(2)
  const published = { job_type: 'datagen', trace_engine: 'none' }
  const fetched = [
    ...(await dirsOf({ ...published, tasks_repo: 'org/tasks' })),
    ...(await dirsOf({ ...published, tasks_repo: 'lab/tasks' })),
    ...(await dirsOf({ ...published, tasks_repo: 'org/tasks', tasks_revision: 'v2' })),
  ]
  expect(new Set(fetched).size).toBe(3)
  const evaluated = { ...trainingCases.eval, eval_benchmark: 'lab/bench' }
  expect(await dirsOf(evaluated)).not.toEqual(await dirsOf({ ...evaluated, eval_benchmark: 'org/bench' }))
})

test('models of one name in two organizations get jobs of their own, and a job that was begun keeps its name', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'launch-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const jobOf = async (model: string) => {
    const { text } = await planned('clusters/vista.yaml', {
      ...trainingCases.eval,
      ...{ eval_model: model, eval_output_dir: dir },
    })
    return /--job-name (\S+)/.exec(text)?.[1]
  }
  expect(await Promise.all(['a/m', 'b/m', 'm'].map(jobOf))).toEqual(['a--m_benchmark', 'b--m_benchmark', 'm_benchmark'])
  expect(await jobOf(`a/${'m'.repeat(90)}`)).not.toBe(await jobOf(`b/${'m'.repeat(90)}`))
  mkdirSync(join(dir, 'm_benchmark'))
  const begun = defaultJobConfig({ jobName: 'm_benchmark', agents: [{ ...defaultAgent(), modelName: 'a/m' }] })
  writeFileSync(join(dir, 'm_benchmark/config.json'), renderJobConfig(begun))
  expect(await Promise.all(['a/m', 'b/m'].map(jobOf))).toEqual(['m_benchmark', 'b--m_benchmark'])
})

test('one launch serves one model: another one for the agents is refused', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'launch-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const other = join(dir, 'other.yaml')
  writeFileSync(
    other,
    readFileSync('configs/engines/vllm.yaml', 'utf8').replace(/model_path: \S+/, 'model_path: org/other'),
  )
  await expect(planned('clusters/vista.yaml', { ...datagen, trace_engine: other })).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringMatching(/expected one model to serve, got \S+ for tasks and org\/other for traces/),
  })
  await planned('clusters/vista.yaml', { ...datagen, trace_engine: 'vllm_local' })
})

test('the model is what counts: the same one in another file, or on another backend, is served once', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'launch-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const preset = readFileSync('configs/engines/vllm.yaml', 'utf8')
  const write = (name: string, text: string) => {
    writeFileSync(join(dir, name), text)
    return join(dir, name)
  }
  const same = write('same.yaml', preset.replace('max_model_len: 32768', 'max_model_len: 131072'))
  const serverOf = async (values: Readonly<Record<string, unknown>>) => {
    const { launch, notes } = await planned('clusters/vista.yaml', { ...datagen, ...values })
    return { servers: launch.jobs.filter(({ name }) => name === 'server').length, notes }
  }
  const shared = expect.arrayContaining([expect.stringContaining('share one server')])
  for (const values of [{ datagen_config: same, trace_backend: 'ray' }, { trace_engine: same }])
    expect(await serverOf(values), JSON.stringify(values)).toEqual({ servers: 1, notes: shared })
  expect((await serverOf({ trace_engine: 'vllm_local' })).notes).not.toEqual(shared)
  // The context length is that of the server being started.
  const long = { trace_agent_kwargs: '{"model_info": {"max_input_tokens": 100000}}' }
  await expect(serverOf({ ...long, trace_engine: same })).rejects.toThrow('the server takes 32768')
  // A different name for other weights makes it another model.
  const renamed = write(
    'renamed.yaml',
    `${preset.replace(/model_path: \S+/, 'model_path: org/other')}  custom_model_name: Qwen/Qwen3-8B\n`,
  )
  await expect(serverOf({ trace_engine: renamed })).rejects.toThrow(
    'got Qwen/Qwen3-8B for tasks and Qwen/Qwen3-8B (org/other) for traces',
  )
})

test('a launch is held before anything of it can be found and resumed', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'launch-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const values = { job_type: 'consolidate', consolidate_input: '/ckpt', experiments_dir: dir }
  const { launch, notes } = await planned('clusters/local.yaml', values)
  const place = join(dir, 'launches', launch.id)
  mkdirSync(place, { recursive: true })
  const release = await acquireOwner(place)
  onTestFinished(release)
  const settings = new Settings(settingSpecs, [{ origin: 'flag', values }])
  const submitting = { settings, command: ['ot-agent', 'launch'], emit: () => {} }
  const refused = submitLaunch(await renderPlan({ launch, notes }), submitting)
  await expect(refused).rejects.toThrow('is already running this job')
  expect(readdirSync(place)).toEqual(['owner.json'])
})

test('numbers that no cluster has are refused', async () => {
  const base = { job_type: 'consolidate', consolidate_input: '/ckpt' }
  const cases = [
    { max_restarts: '9'.repeat(400) },
    { max_restarts: 1001 },
    { cpus_per_node: '12345678901' },
    { trace_agent_timeout_sec: true },
  ]
  for (const values of cases)
    await expect(planned('clusters/vista.yaml', { ...base, ...values }), JSON.stringify(values)).rejects.toMatchObject({
      name: 'UserError',
    })
})

test('a value of the trainer may have an equals sign in it', async () => {
  const { text } = await planned('clusters/vista.yaml', {
    ...trainingCases.sft,
    train_extra_args: '--run_name seed=3 --learning_rate=1e-5',
  })
  expect(text).toContain('run_name: seed=3')
  expect(text).not.toMatch(/^\s*seed: 3$/m)
})

test('parts of traces are joined from the trials of their own launch', async () => {
  const { launch, text } = await planned('clusters/vista.yaml', cases.chunks ?? {})
  const dirs = text.match(/(?<=--(?:path|trace-jobs-dir) '?)\/exp\/trace_jobs[\w./-]*/g)
  expect(dirs).toEqual([`/exp/trace_jobs/${launch.id}/chunk-`, `/exp/trace_jobs/${launch.id}`])
})

test('more trials than many clusters allow files for, or more parts than Slurm takes, are pointed out', async () => {
  const many = { ...cases.chunks, datagen_extra_args: '--limit 50000', chunk_size: 500, trace_n_attempts: 2 }
  const note = '100000 trials are about 1.1 million files and directories; --trace-store packed'
  expect((await planned('clusters/vista.yaml', many)).text).toContain(note)
  expect((await planned('clusters/vista.yaml', { ...many, trace_n_attempts: 1 })).text).not.toContain('million files')
  expect((await planned('clusters/vista.yaml', many)).text).not.toContain('MaxArraySize')
  const parts = await planned('clusters/vista.yaml', { ...many, chunk_size: 10 })
  expect(parts.text).toContain('traces: an array of 5000 tasks; Slurm takes 1000 unless its MaxArraySize is larger')
  const { text } = await planned('clusters/vista.yaml', { ...many, trace_store: 'packed' })
  expect(text).not.toContain('million files')
  expect(text).toContain('--trace-store packed')
})

test('as many parts of traces run at once as --array-max says, else the engine file, else 3', async () => {
  const throttleOf = async (more: Readonly<Record<string, unknown>>) =>
    (await planned('clusters/vista.yaml', { ...cases.chunks, ...more })).launch.jobs.flatMap(({ array }) => array ?? [])
  const set = ['vllm_server.tensor_parallel_size=4', 'chunk_array_max=2']
  expect(await throttleOf({})).toMatchObject([{ throttle: 3 }])
  expect(await throttleOf({ set })).toMatchObject([{ throttle: 2 }])
  expect(await throttleOf({ set, array_max: 1 })).toMatchObject([{ throttle: 1 }])
})

test('a server has the time that is asked for, and never more than its cluster allows', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'launch-')), 'mine.yaml')
  writeFileSync(file, `${readFileSync('clusters/vista.yaml', 'utf8')}\nmax_time_limit: '1-12:00:00'\n`)
  const timeOf = async (cluster: string, values: Readonly<Record<string, unknown>>) =>
    (await planned(cluster, values)).launch.jobs.find(({ name }) => name === 'server')?.resources.timeLimit
  for (const values of [datagen, trainingCases.eval ?? {}]) {
    expect(await timeOf('clusters/vista.yaml', values)).toBe('48:00:00')
    expect(await timeOf('clusters/vista.yaml', { ...values, time_limit: '04:00:00' })).toBe('04:00:00')
    expect(await timeOf(file, values)).toBe('1-12:00:00')
  }
  await expect(timeOf(file, { ...datagen, time_limit: '1-12:01' })).rejects.toThrow('at most 1-12:00:00')
})

describe('a judge', () => {
  const named = { judge_model: 'openai/judge', judge_api_base: 'http://judge:8000/v1', judge_api_key_env: 'JUDGE_KEY' }
  const prices = 'model_info={"input_cost_per_token":1e-6}'
  const words = '--judge-model openai/judge --judge-api-base http://judge:8000/v1 --judge-api-key-env JUDGE_KEY'
  const both = { ...datagen, datagen_script: 'data/llm-verifier/generate.ts' }
  const plan = async (values: object) => {
    const { launch, text } = await planned('clusters/vista.yaml', { ...values })
    return { launch, text: text.replaceAll(' \\\n  ', ' ') }
  }

  test('is handed to every job that runs tests, its key by name only', async () => {
    vi.stubEnv('JUDGE_KEY', 'sk-planted-key-of-the-judge')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { launch, text } = await plan({ ...both, ...named, judge_engine_kwarg: [prices] })
    const told = launch.jobs.filter(({ script }) => JSON.stringify(script).includes('--judge-model'))
    expect(told.map(({ name }) => name)).toEqual(['tasks', 'traces'])
    expect(text.split('\n').filter((line) => line.includes(`${words} --judge-engine-kwarg '${prices}'`))).toHaveLength(
      2,
    )
    expect(text).not.toContain('sk-planted')
    const scored = await plan({ ...trainingCases.eval, ...named })
    expect(scored.text.split('\n').filter((line) => line.includes(words))).toHaveLength(1)
  })

  test('that is missing is asked for before anything is submitted', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'launch-'))
    mkdirSync(join(dir, 'kind', 'tests'), { recursive: true })
    writeFileSync(join(dir, 'kind', 'tests', 'judge.json'), '{}')
    const over = { job_type: 'datagen', enable_trace_gen: true, trace_input_path: dir }
    const scored = { job_type: 'eval', eval_benchmark: dir, eval_model: 'org/model' }
    const steps = mkdtempSync(join(tmpdir(), 'launch-'))
    mkdirSync(join(steps, 'long', 'steps', 'first', 'tests'), { recursive: true })
    writeFileSync(join(steps, 'long', 'steps', 'first', 'tests', 'judge.json'), '{}')
    const missing = /judged by a model, but no model was set/
    for (const values of [
      both,
      over,
      scored,
      { ...over, trace_input_path: steps },
      { ...scored, eval_benchmark: steps },
    ]) {
      await expect(plan(values)).rejects.toThrow(missing)
      expect((await plan({ ...values, ...named })).text).toContain(words)
    }
    const extra = { eval_extra_args: '--judge-model=openai/judge' }
    expect((await plan({ ...scored, ...extra })).text).toContain('--judge-model=openai/judge')
    expect((await plan({ ...both, disable_verification: true })).text).toContain('--disable-verification')
    // Without scoring no judge is needed, wherever that is configured.
    const off = join(mkdtempSync(join(tmpdir(), 'launch-')), 'job.yaml')
    writeFileSync(off, 'verifier: { disable: true }\n')
    for (const extra of [`--config ${off}`, '--set verifier.disable=true', '--disable_verification'])
      expect((await plan({ ...scored, eval_extra_args: extra })).launch.jobs.map(({ name }) => name)).toContain('eval')
    for (const config of [{ trace_harbor_config: off }, { datagen_extra_args: `--trace-harbor-config=${off}` }])
      expect((await plan({ ...over, ...config })).launch.jobs).toHaveLength(1)
    // When only making tasks, the model that makes them proves them.
    expect((await plan({ ...both, enable_trace_gen: false })).launch.jobs).not.toHaveLength(0)
  })

  test.each([
    ['judge_api_key_env', 'sk-planted-key-of-the-judge'],
    ['judge_api_base', 'http://me:sk-planted-key@judge:8000/v1'],
    ['judge_engine_kwarg', 'api_key=sk-planted-key-of-the-judge'],
  ])('whose key stands in %s is refused, and the key is not repeated', async (name, value) => {
    const error = await plan({ ...both, ...named, [name]: value }).catch((e: unknown) => e)
    expect(error).toMatchObject({ name: 'UserError', message: expect.stringContaining('looks like a key') })
    expect(JSON.stringify([Object(error).message, Object(error).hint])).not.toContain('planted')
  })

  test('without a model is nobody', async () => {
    const { judge_model: _, ...rest } = named
    await expect(plan({ ...datagen, ...rest })).rejects.toThrow('--judge-model with it')
  })
})

/** A cluster's file with these lines instead of its fact about the internet. */
function clusterFile(...lines: readonly string[]): string {
  const file = join(mkdtempSync(join(tmpdir(), 'launch-')), 'vista.yaml')
  const text = readFileSync('clusters/vista.yaml', 'utf8')
  writeFileSync(file, text.replace(/^internet_on_compute_nodes: .*$/m, lines.join('\n')))
  return file
}

test('nodes without internet get the variables of their proxy, and others do not', async () => {
  const proxy = 'proxy: { https_proxy: "http://$PROXY_HOST:3128", no_proxy: .cluster }'
  const values = { ...cases.datagen }
  const offline = await planned(clusterFile('internet_on_compute_nodes: false', proxy), values)
  for (const { name, script } of offline.launch.jobs)
    expect([name, script.flatMap(({ lines }) => lines)]).toEqual([
      name,
      expect.arrayContaining(['export https_proxy="http://$PROXY_HOST:3128"', 'export no_proxy=".cluster"']),
    ])
  const online = await planned(clusterFile('internet_on_compute_nodes: true', proxy), values)
  expect(online.text).not.toContain('https_proxy')
})

test('nodes without internet open the tunnel of their cluster, and jobs that run where there is internet do not', async () => {
  const tunnel = 'ssh_tunnel: { host: me@login01, port: 2222, identity: ~/.ssh/out, forward: "proxy:3128" }'
  const place = 'internet_jobs: { partition: transfer }'
  const { launch } = await planned(clusterFile('internet_on_compute_nodes: false', tunnel, place), {
    ...trainingCases.sft,
  })
  const opened = launch.jobs.map(({ name, place, script }) => [
    ...[name, place],
    script.flatMap(({ lines }) => lines).find((line) => line.trim().startsWith('ssh ')) ?? null,
  ])
  const line =
    '    ssh -N -T -L 127.0.0.1:"$tunnel_port":proxy:3128 -o BatchMode=yes -o ExitOnForwardFailure=yes -o ServerAliveInterval=15 -o ServerAliveCountMax=4 -o ConnectTimeout=15 -p 2222 -i "$HOME"/.ssh/out -- me@login01 < /dev/null & inner=$!'
  expect(opened).toEqual([
    ['download', 'internet', null],
    ['train', null, line],
  ])
  const online = await planned(clusterFile('internet_on_compute_nodes: true', tunnel), { ...trainingCases.sft })
  expect(online.text).not.toContain('ssh ')
  await expect(
    loadClusterFile(clusterFile('internet_on_compute_nodes: false', 'ssh_tunnel: { host: -oX }')),
  ).rejects.toThrow('ssh_tunnel.host')
})

test('a cluster limits what Ray takes, for servers and for reinforcement', async () => {
  const file = clusterFile(
    'internet_on_compute_nodes: true',
    'ray: { temp_dir: /tmp/$USER, object_store_gb: 20, memory_gb: 64.5 }',
  )
  for (const values of [cases.chunks, trainingCases.rl]) {
    const { text } = await planned(file, { ...values })
    expect(text).toContain('--num-gpus=1 --object-store-memory=20000000000 --memory=64500000000 --block')
    expect(text.match(/--temp-dir="\/tmp\/\$USER"/g)).toHaveLength(1)
    expect(text).toMatch(/--head --port="\$ray_port" --temp-dir=/)
  }
})

test('accelerate starts a training instead of torchrun, with its own file', async () => {
  const { launch, text } = await planned('clusters/vista.yaml', { ...trainingCases.sft, train_launcher: 'accelerate' })
  expect(text).not.toContain('torchrun')
  const [path = ''] = Object.keys(launch.files).filter((name) => name.endsWith('_accelerate.yaml'))
  expect(launch.files[path]).toContain('distributed_type: DEEPSPEED')
  expect(launch.files[path]).toContain('num_machines: 4')
  expect(text).toContain(`accelerate launch --config_file /exp/${path} --num_machines 4 --num_processes 4`)
  await expect(planned('clusters/vista.yaml', { ...trainingCases.sft, train_launcher: 'mpirun' })).rejects.toThrow(
    'expected one of torchrun, accelerate, got "mpirun"',
  )
})

describe('tokens', () => {
  const rows = (text: string) =>
    `${JSON.stringify({
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: text },
      ],
    })}\n`

  async function setUp() {
    const dir = mkdtempSync(join(tmpdir(), 'launch-'))
    const dataset = join(dir, 'rows.jsonl')
    writeFileSync(dataset, rows('y'))
    const values = {
      ...{ job_type: 'sft', train_config_path: 'qwen3-8b', dataset, pretokenize: true, preflight: false },
      ...{ experiments_dir: dir, num_nodes: 4 },
    }
    const plan = async (more: Readonly<Record<string, unknown>> = {}, stamp = '1') => {
      const { launch, text } = await planned('clusters/vista.yaml', { ...values, ...more }, stamp)
      const paths = [...text.matchAll(/tokenized_path: (\S+)/g)].map(([, path = '']) => path)
      const [at = '', draft = at] = paths.toReversed()
      return { jobs: launch.jobs.map(({ name }) => name), at, draft, text }
    }
    const first = await plan()
    mkdirSync(first.draft, { recursive: true })
    return { plan, first, dataset }
  }

  test('of an earlier launch are used for the same rows, model and lengths', async () => {
    const { plan, first } = await setUp()
    expect(first.jobs).toEqual(['pretokenize', 'train'])
    // The first is still running, or was killed: each launch has its own draft next to the same place.
    const second = await plan({}, '2')
    expect(second).toMatchObject({ jobs: ['pretokenize', 'train'], at: first.at })
    expect(new Set([first.at, first.draft, second.draft]).size).toBe(3)
    expect(dirname(second.draft)).toBe(dirname(first.at))
    mkdirSync(first.at)
    const next = await plan({ job_name: 'another', learning_rate: '1e-6', num_nodes: 8 }, '2')
    expect(next).toMatchObject({ jobs: ['train'], at: first.at })
    expect(next.text).toContain(`using the tokens of an earlier launch: ${first.at}`)
  })

  test('are made again for other rows, another model, template or length', async () => {
    const { plan, first, dataset } = await setUp()
    mkdirSync(first.at)
    const others = [{ base_model: 'org/other' }, { cutoff_len: '1024' }, { template: 'llama3' }, { packing: 'true' }]
    for (const more of others) {
      const other = await plan(more, '2')
      expect([more, other.jobs]).toEqual([more, ['pretokenize', 'train']])
      expect(other.at).not.toBe(first.at)
    }
    writeFileSync(dataset, rows('z z'))
    expect((await plan({}, '3')).jobs).toEqual(['pretokenize', 'train'])
  })

  async function tokenizing() {
    const dir = mkdtempSync(join(tmpdir(), 'launch-'))
    const { cluster } = await loadClusterFile('clusters/local.yaml')
    const shared = join(dir, 'tokens')
    const textOf = (launchId: string, command: string) => {
      const at = {
        ...{ cluster, launchId, experimentsDir: dir, cwd: dir, name: 'it', program: ['true'], secretsFile: null },
        ...{ timeLimit: '01:00:00', restarts: 0, stopSec: 60, variables: {} },
      }
      const { script } = planTraining(at, {
        ...{ name: 'pretokenize', summary: 'tokenize', command: ['bash', '-c', command], env: {}, nodes: 1, after: [] },
        ...{ gpusPerNode: 0, image: null, spread: 'node', summarize: null },
        once: { dir: shared, draft: `${shared}.${launchId}` },
      })
      return renderPieces(script)
    }
    const script = (command: string, launchId = 'one') => {
      rmSync(join(dir, 'launches'), { recursive: true, force: true })
      // A pipe would stay open as long as the script's leftover sleeping processes.
      const log = join(dir, 'log')
      const { status } = spawnSync('bash', ['-c', textOf(launchId, command)], {
        stdio: ['ignore', 'ignore', openSync(log, 'w')],
      })
      return { status, stderr: readFileSync(log, 'utf8') }
    }
    const made = () => readdirSync(dir).filter((name) => name.startsWith('tokens'))
    return { once: { dir: shared, draft: `${shared}.one` }, textOf, script, made }
  }

  test('appear whole: a job does nothing where they are, starts over where it failed, and takes those of a faster one', async () => {
    const { once, script, made } = await tokenizing()
    expect(script(`mkdir ${once.draft}; exit 7`).status).toBe(7)
    expect(made()).toEqual([])
    // Leftovers of a killed job do not become part of the result.
    mkdirSync(once.draft)
    writeFileSync(join(once.draft, 'half'), '')
    expect(script(`mkdir ${once.draft}; touch ${once.draft}/mine`)).toMatchObject({ status: 0 })
    expect(readdirSync(once.dir)).toEqual(['mine'])
    const again = script('exit 8')
    expect(again).toMatchObject({ status: 0, stderr: expect.stringContaining('another launch has made it') })
    rmSync(once.dir, { recursive: true })
    // Another launch finishes while this one is running.
    const late = script(`mkdir ${once.draft} ${once.dir}; touch ${once.draft}/mine ${once.dir}/theirs`)
    expect(late).toMatchObject({ status: 0, stderr: expect.stringContaining('another launch was faster') })
    expect(made()).toEqual(['tokens'])
    expect(readdirSync(once.dir)).toEqual(['theirs'])
    rmSync(once.dir, { recursive: true })
    // The same if the faster launch removed the draft and the work failed because of that.
    const robbed = script(`mkdir ${once.dir}; touch ${once.dir}/theirs; exit 9`)
    expect(robbed).toMatchObject({ status: 0, stderr: expect.stringContaining('another launch was faster') })
    rmSync(once.dir, { recursive: true })
    // Work that produced nothing is not a success.
    expect(script('true').status).not.toBe(0)
  })

  test('that a killed launch left unfinished are removed by the next one that makes them', async () => {
    const { once, textOf, script, made } = await tokenizing()
    const half = join(once.draft, 'half')
    const killed = spawn('bash', ['-c', textOf('one', `mkdir ${once.draft}; touch ${half}; exec sleep 600`)], {
      ...{ detached: true, stdio: 'ignore' },
    })
    await expect.poll(() => existsSync(half)).toBe(true)
    const ended = new Promise((done) => killed.once('exit', done))
    process.kill(-(killed.pid ?? 0), 'SIGKILL')
    await ended
    expect(made()).toEqual(['tokens.one'])
    expect(script(`mkdir ${once.dir}.two; touch ${once.dir}.two/mine`, 'two')).toMatchObject({ status: 0 })
    expect(made()).toEqual(['tokens'])
    expect(readdirSync(once.dir)).toEqual(['mine'])
    // If the results already exist, later leftovers are removed too.
    mkdirSync(once.draft)
    expect(script('exit 8', 'three')).toMatchObject({ status: 0 })
    expect(made()).toEqual(['tokens'])
  })
})

test('an upload of a trained policy asks where to, and no author is named by default', async () => {
  const { hf_repo_name: _, ...rl } = { ...trainingCases.rl } as Record<string, unknown>
  await expect(planned('clusters/vista.yaml', rl)).rejects.toMatchObject({
    message: '--enable-hf-upload: expected where to upload the model to, got nothing',
    hint: 'pass the repository with --hf-repo-name org/name, or its owner with --job-creator',
  })
  const mine = await planned('clusters/vista.yaml', { ...rl, job_creator: 'me' })
  expect(mine.text).toContain('hub upload')
  expect(mine.text).toMatch(/ me\/\S+_rl/)
  expect(mine.text).toContain('"createdBy": "me"')
  expect((await planned('clusters/vista.yaml', { ...trainingCases.sft })).text).toContain('"createdBy": null')
})

test('what every script begins with is as it was', async () => {
  const { launch, text } = await planned('clusters/local.yaml', cases.datagen ?? {})
  expect(launch.jobs.map(({ name }) => name)).toEqual(['server', 'tasks', 'traces', 'upload-tasks', 'upload-traces'])
  expectGolden(join(fixtures, 'frame.txt'), framePattern.exec(text)?.[0] ?? '')
})

/** Every command line in the old launcher's two READMEs, with names filled in. */
const oldLines: Readonly<Record<string, readonly string[]>> = {
  'readme-datagen': [
    ...[
      '--job_type',
      'datagen',
      '--datagen_script',
      'data/nl2bash/generate.py',
      '--datagen_target_repo',
      'org/dataset-tasks',
    ],
    ...[
      '--datagen_engine',
      'vllm_local',
      '--datagen_extra_args',
      '--stage both --limit 200',
      '--experiments_dir',
      '/exp',
    ],
    ...['--time_limit', '12:00:00'],
  ],
  'readme-traces': [
    ...[
      '--job_type',
      'datagen',
      '--datagen_script',
      'data/nl2bash/generate.py',
      '--datagen_target_repo',
      'org/dataset-tasks',
    ],
    ...['--datagen_engine', 'vllm_local', '--enable_trace_gen', '--trace_target_repo', 'org/dataset-traces'],
    ...['--trace_harbor_config', 'configs/jobs/default.yaml', '--experiments_dir', '/exp', '--time_limit', '12:00:00'],
  ],
  'readme-own-cluster': [
    ...[
      '--job_type',
      'datagen',
      '--datagen_script',
      'data/nl2bash/generate.py',
      '--datagen_target_repo',
      'test-org/test-dataset',
    ],
    ...['--experiments_dir', '/exp'],
  ],
  'readme-train': [
    ...['--job_type', 'train', '--train_config_path', 'configs/sft/qwen3-8b.yaml', '--dataset', 'org/dataset'],
    ...[
      '--num_nodes',
      '8',
      '--time_limit',
      '24:00:00',
      '--experiments_dir',
      '/exp',
      '--train_extra_args',
      '--learning_rate 1e-5',
    ],
  ],
  'readme-train-config': [
    ...['--job_type', 'train', '--train_config_path', 'sft/lf_configs/qwen3/qwen3-8b.yaml', '--dataset', 'org/dataset'],
    ...['--num_nodes', '8', '--time_limit', '24:00:00', '--experiments_dir', '/exp'],
  ],
  'readme-place': [
    ...['--job_type', 'datagen', '--datagen_script', 'data/nl2bash/generate.py', '--experiments_dir', '/exp'],
    ...['--datagen_target_repo', 'test-org/test-dataset', '--name', 'vista', '--account', 'mine'],
    ...['--partition', 'gh-dev', '--gpus_per_node', '1', '--cpus_per_node', '36'],
  ],
  'data-readme': [
    ...[
      '--job_type',
      'datagen',
      '--datagen_script',
      'data/nl2bash/generate_abstract.py',
      '--datagen_target_repo',
      'org/repo',
    ],
    ...[
      '--datagen_extra_args',
      '--stage both --limit 2000',
      '--datagen_engine',
      'vllm_local',
      '--experiments_dir',
      '/exp',
    ],
  ],
  'data-readme-parquet': [
    ...['--job_type', 'datagen', '--experiments_dir', '/exp', '--trace_target_repo', 'org/traces-repo'],
    ...['--vllm_model_path', 'meta-llama/Llama-3-70b-instruct', '--tasks_repo', 'DCAgent/nl2bash'],
    ...['--parquet_name', 'tasks/train-00000-of-00001.parquet'],
  ],
  'data-readme-parquet-again': [
    ...['--job_type', 'datagen', '--experiments_dir', '/exp', '--trace_target_repo', 'org/traces-repo', '--overwrite'],
    ...['--vllm_model_path', 'meta-llama/Llama-3-70b-instruct', '--tasks_repo', 'DCAgent/nl2bash'],
    ...[
      '--tasks_revision',
      'v1',
      '--sandbox_cpu',
      '2',
      '--trace_model',
      'hosted_vllm/llama',
      '--trace_n_concurrent',
      '64',
    ],
  ],
}

describe.each(Object.keys(oldLines))('the old command line %s', (name) => {
  test('is understood with underscores and with dashes, and prints what it would do', async () => {
    const line = [...(oldLines[name] ?? []), '--cluster', 'vista', '--dry_run']
    const dashed = line.map((word) => (word.startsWith('--') && !word.includes(' ') ? word.replaceAll('_', '-') : word))
    const text = await printed(dashed)
    expect(existsSync('/exp')).toBe(false)
    expectGolden(join(fixtures, 'old-lines', `${name}.txt`), withoutFrame(neutral(text)))
  })
})

test('every setting has a flag, and the flags are all different', () => {
  const flags = launchCommand().options.map(({ long }) => long)
  for (const { name } of settingSpecs) expect(flags).toContain(`--${name.replaceAll('_', '-')}`)
  expect(new Set(flags).size).toBe(flags.length)
})

test('a misspelt flag, setting, cluster or engine is refused with the name that was meant', async () => {
  const refuse = async (words: readonly string[]) =>
    printed(words).catch((error: unknown) =>
      error instanceof UserError ? `${error.message} | ${error.hint}` : String(error),
    )
  const base = [
    '--job-type',
    'datagen',
    '--datagen-script',
    'data/nl2bash/generate.ts',
    '--datagen-target-repo',
    'a/b',
    '--dry-run',
  ]
  expect(await refuse([...base, '--trace-agent-nam', 'x'])).toContain('--trace-agent-name')
  expect(await refuse([...base, '--cluster', 'vsta'])).toContain('did you mean vista?')
  expect(await refuse([...base, '--cluster', 'vista', '--datagen-engine', 'vlm'])).toMatch(/unknown engine "vlm"/)
  expect(await refuse([...base, '--cluster', 'vista', '--max-restarts', 'many'])).toMatch(
    /--max-restarts .*whole number.*many/,
  )
  const file = join(mkdtempSync(join(tmpdir(), 'launch-')), 'launch.yaml')
  writeFileSync(file, 'datagen_scrpt: x\n')
  expect(await refuse([...base, '--cluster', 'vista', '--config', file])).toContain('did you mean datagen_script?')
})

test('a folder of tasks that is not there is refused, unless it is only shown or something is waited for', async () => {
  for (const values of [
    { job_type: 'eval', eval_benchmark: '/no/such/tasks', eval_model: 'org/model' },
    { job_type: 'datagen', enable_trace_gen: true, trace_input_path: '/no/such/tasks' },
  ]) {
    await expect(planned('clusters/vista.yaml', values)).rejects.toThrow(/folder of tasks, found none at \/no\/such/)
    for (const but of [{ dry_run: true }, { dependency: 'afterok:1' }])
      expect((await planned('clusters/vista.yaml', { ...values, ...but })).launch.jobs).not.toHaveLength(0)
  }
})

test('a word that run does not know is refused before anything is submitted', async () => {
  const values = { ...trainingCases.eval, eval_extra_args: '--n-attempt 3' }
  await expect(planned('clusters/vista.yaml', values)).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining("unknown option '--n-attempt'"),
  })
})

test('training without a model is refused before anything is submitted', async () => {
  const values = { job_type: 'sft', train_config_path: 'smoke-cpu', dataset: 'org/dataset' }
  await expect(planned('clusters/local.yaml', values)).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining('smoke-cpu.yaml: expected a model to train'),
    hint: expect.stringContaining('--base-model'),
  })
  const { launch } = await planned('clusters/local.yaml', { ...values, base_model: 'org/small' })
  expect(Object.values(launch.files).join()).toContain('model_name_or_path: org/small')
})

test('--explain tells where each value comes from', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'launch-'))
  writeFileSync(join(dir, 'launch.yaml'), 'account: from-file\nqos: from-file\n')
  const words = [
    '--job-type',
    'datagen',
    '--cluster',
    'perlmutter',
    '--config',
    join(dir, 'launch.yaml'),
    '--qos',
    'from-flag',
  ]
  const told = JSON.parse(await printed([...words, '--explain', '--json']))
  const origins = Object.fromEntries(
    told.settings.map(({ name, origin }: { name: string; origin: string }) => [name, origin]),
  )
  expect(origins).toMatchObject({
    max_restarts: 'default',
    cpus_per_node: 'cluster perlmutter',
    account: `file ${join(dir, 'launch.yaml')}`,
    qos: 'flag',
  })
})

describe('secrets', () => {
  afterEach(() => vi.unstubAllEnvs())

  test('a key in an argument is refused by name, and never printed', async () => {
    vi.stubEnv('HF_TOKEN', 'hf_planted_secret_value')
    const words = [
      '--job-type',
      'datagen',
      '--datagen-script',
      'data/nl2bash/generate.ts',
      '--datagen-target-repo',
      'a/b',
      '--cluster',
      'vista',
    ]
    const error = await printed([
      ...words,
      '--dry-run',
      '--datagen-extra-args',
      '--token hf_planted_secret_value',
    ]).catch((e: unknown) => e)
    expect(error).toMatchObject({ name: 'UserError', message: expect.stringContaining('HF_TOKEN') })
    expect(String(Object(error).message)).not.toContain('hf_planted')
    const fine = await printed([...words, '--dry-run'])
    expect(fine).not.toContain('hf_planted')
  })

  test('a file of keys is named in scripts, and nothing of it is in them', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'launch-')), 'keys.env')
    writeFileSync(file, 'export OPENAI_API_KEY=sk-planted-in-file\n', { mode: 0o600 })
    vi.stubEnv('DC_AGENT_SECRET_ENV', file)
    const text = await printed([
      ...['--job-type', 'datagen', '--datagen-script', 'data/nl2bash/generate.ts', '--datagen-target-repo', 'a/b'],
      ...['--cluster', 'vista', '--dry-run'],
    ])
    expect(text).toContain(`. ${file}`)
    expect(text).not.toContain('sk-planted-in-file')
  })

  test('older variables name the file of keys too, and the newest wins', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'launch-'))
    const line = [
      ...['--job-type', 'datagen', '--datagen-script', 'data/nl2bash/generate.ts', '--datagen-target-repo', 'a/b'],
      ...['--cluster', 'vista', '--dry-run'],
    ]
    // From the oldest to the newest.
    for (const name of ['KEYS', 'SECRET_ENV_PATH', 'DC_AGENT_SECRET_ENV']) {
      const file = join(dir, `${name}.env`)
      writeFileSync(file, `export OPENAI_API_KEY=sk-planted-for-${name}\n`, { mode: 0o600 })
      vi.stubEnv(name, file)
      const text = await printed(line)
      expect(text).toContain(`. ${file} > /dev/null`)
      expect(text.match(/\n\. \S+ > /g)?.every((each) => each.includes(file))).toBe(true)
      expect(text).not.toContain('sk-planted')
      const leaks = [...line, '--datagen-extra-args', `--token sk-planted-for-${name}`]
      await expect(printed(leaks)).rejects.toThrow(
        'expected no secrets, but it would contain the value of OPENAI_API_KEY',
      )
    }
  })
})

async function planned(
  file: string,
  values: Readonly<Record<string, unknown>>,
  stamp = '1',
): Promise<{ launch: Launch; notes: readonly string[]; text: string }> {
  const { cluster } = await loadClusterFile(file)
  const layers = [
    { origin: `cluster ${cluster.name}`, values: clusterSettings(cluster) },
    {
      origin: 'flag',
      values: { experiments_dir: '/exp', ...(cluster.accountRequired && { account: 'my-project' }), ...values },
    },
  ]
  const place = {
    cluster,
    stamp,
    cwd: '/work',
    program: ['node', '/opt/ot-agent.js'],
    secretsFile: '/home/me/keys.env',
  }
  const { launch, notes } = await makeLaunch(new Settings(settingSpecs, layers), place)
  return { launch, notes, text: neutral(renderLaunch(await renderPlan({ launch, notes }))) }
}

async function printed(words: readonly string[]): Promise<string> {
  const shown = catchPrinted()
  await runCommand(launchCommand, ['ot-agent', 'launch'], words)
  return shown()
}

const framePattern = /# who runs, and whether it still has to\n[\s\S]*?\n\n/g

/** The frame has a golden file of its own. */
function withoutFrame(text: string): string {
  return text.replaceAll(framePattern, '')
}

function neutral(text: string): string {
  return text.replaceAll(process.execPath, 'node').replaceAll(process.cwd(), '/checkout')
}

/** For a refused plan, the text is the reason. */
async function expectPlan(file: string, name: string, values: Readonly<Record<string, unknown>>): Promise<void> {
  const made = await planned(file, values).catch((error: unknown) => {
    if (error instanceof UserError) return { text: `refused: ${error.message}\n`, launch: null }
    throw error
  })
  for (const { jobName } of made.launch?.jobs ?? []) expect(jobName.length).toBeLessThanOrEqual(96)
  expectGolden(join(fixtures, basename(file, '.yaml'), `${name}.txt`), withoutFrame(made.text))
}

function expectGolden(path: string, text: string): void {
  if (isUpdating) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  expect(text).toBe(readFileSync(path, 'utf8'))
}
