import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { runCommand } from '../../src/app/flags/command.ts'
import { settingSpecs } from '../../src/app/launch/schema.ts'
import launchCommand from '../../src/cli/launch.ts'
import { catchPrinted } from '../printed.ts'

let dir: string

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'launch-flags-'))
  mkdirSync(join(dir, 'tasks/one'), { recursive: true })
  writeFileSync(join(dir, 'job.yaml'), 'agents:\n  - name: oracle\n')
  writeFileSync(join(dir, 'engine.yaml'), 'engine:\n  type: openai\n  model: gpt-x\n')
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))
beforeEach(() => {
  vi.stubEnv('HF_HUB_OFFLINE', '1')
})

interface Shown {
  readonly notes: string
  /** Everything but the notes. */
  readonly plan: string
}

async function dryRun(jobType: string, words: readonly string[]): Promise<Shown> {
  const shown = catchPrinted()
  const base = ['--job-type', jobType, '--experiments-dir', join(dir, 'exp'), '--dry-run', '--json']
  const given = words.map((word) => word.replace('FLAGS_DIR', dir))
  const place = given.some((word) => /^--(cluster|name)$/.test(word)) ? [] : ['--cluster', 'vista']
  await runCommand(launchCommand, ['ot-agent', 'launch'], [...base, ...place, ...given])
  const { notes, ...plan } = JSON.parse(shown())
  return { notes: notes.join('\n'), plan: JSON.stringify(plan) }
}

const usual: Readonly<Record<string, readonly string[]>> = {
  datagen: [
    ...['--datagen-script', 'data/nl2bash/generate.ts', '--datagen-engine', 'vllm_local'],
    ...['--datagen-target-repo', 'org/tasks', '--enable-trace-gen', 'true'],
  ],
  recipe: ['--recipe', 'recipes/demo.ts'],
  pretokenize: ['--dataset', 'org/dataset'],
  consolidate: ['--consolidate-input', 'org/model'],
  rl: ['--train-data', 'org/tasks', '--model-path', 'org/model'],
  eval: ['--eval-benchmark', 'org/tasks', '--eval-model', 'org/model'],
}

/** A value other than the default, and whatever else is needed to see the difference. */
type Try = readonly [value: string, ...more: string[]]

const everywhere: Readonly<Record<string, Try>> = {
  job_name: ['mine'],
  experiments_dir: ['FLAGS_DIR/other'],
  cluster: ['leonardo'],
  name: ['leonardo'],
  time_limit: ['01:00:00'],
  max_restarts: ['2'],
  stop_sec: ['33'],
  dependency: ['afterok:1'],
  account: ['acct'],
  partition: ['part'],
  qos: ['q'],
  exclude_nodes: ['c1'],
  cpus_per_node: ['2'],
  mem_per_node_gb: ['2'],
}
const judged: Readonly<Record<string, Try>> = {
  judge_model: ['openai/judge'],
  judge_api_base: ['http://judge/v1', '--judge-model', 'openai/judge'],
  judge_api_key_env: ['JUDGE_KEY', '--judge-model', 'openai/judge'],
  judge_engine_kwarg: ['temperature=0', '--judge-model', 'openai/judge'],
}
const topology: Readonly<Record<string, Try>> = {
  num_nodes: ['2'],
  num_gpus: ['2', '--cluster', 'leonardo'],
  gpus_per_node: ['3'],
  checkpoints_dir: ['/ckpt'],
  models_dir: ['/models', '--internet-node', 'false'],
  internet_node: ['false'],
  image: ['/i.sif'],
}

/** The listed flags of each job type. */
const flags: Readonly<Record<string, Readonly<Record<string, Try>>>> = {
  datagen: {
    ...everywhere,
    ...judged,
    array_max: ['2', '--chunk-size', '5', '--datagen-extra-args', '--limit 20'],
    gpus_per_node: ['4', '--set', 'vllm_server.tensor_parallel_size=4'],
    models_dir: ['/models', '--internet-node', 'false'],
    internet_node: ['false'],
    datagen_script: ['data/taskmaster2/generate.ts'],
    datagen_target_repo: ['org/others'],
    datagen_engine: ['openai'],
    datagen_config: ['FLAGS_DIR/engine.yaml'],
    datagen_backend: ['none'],
    datagen_extra_args: ['--limit 3'],
    datagen_input_dir: ['/in'],
    datagen_output_dir: ['/out'],
    enable_task_gen: ['false'],
    enable_trace_gen: ['false'],
    task_type: ['hard'],
    set: ['vllm_server.model_path=org/m'],
    sandbox_cpu: ['2'],
    sandbox_memory_gb: ['2'],
    sandbox_disk_gb: ['2'],
    sandbox_gpu: ['1'],
    chunk_size: ['5', '--datagen-extra-args', '--limit 20'],
    disable_verification: ['true'],
    trace_script: ['data/taskmaster2/generate.ts'],
    trace_input_path: ['FLAGS_DIR/tasks'],
    trace_target_repo: ['org/traces'],
    trace_output_dir: ['/traces'],
    trace_jobs_dir: ['/jobs'],
    trace_store: ['packed'],
    trace_harbor_config: ['FLAGS_DIR/job.yaml'],
    trace_model: ['org/m'],
    trace_engine: ['openai'],
    trace_backend: ['none'],
    trace_agent_name: ['oracle'],
    trace_agent_kwargs: ['{"a": 1}'],
    trace_n_concurrent: ['2'],
    trace_n_attempts: ['2'],
    trace_env: ['docker'],
    trace_episodes: ['all'],
    trace_export_filter: ['success'],
    trace_dataset_type: ['SFT'],
    trace_export_subagents: ['false'],
    trace_eval_only: ['true'],
    trace_use_gpu: ['true'],
    trace_agent_timeout_sec: ['9'],
    trace_verifier_timeout_sec: ['9'],
    trace_endpoint_json: ['/endpoint.json'],
    tasks_repo: ['org/published'],
    tasks_revision: ['v1', '--tasks-repo', 'org/published'],
    parquet_name: ['a.parquet', '--tasks-repo', 'org/published'],
    overwrite: ['true', '--tasks-repo', 'org/published'],
    vllm_model_path: ['org/m'],
  },
  recipe: {
    ...everywhere,
    array_max: ['2', '--shards', '4'],
    recipe: ['recipes/openthoughts-agent-v1.ts'],
    shards: ['3'],
    recipe_extra_args: ['--shard-rows 500'],
    recipe_output_dir: ['/out'],
  },
  rl: {
    ...everywhere,
    ...topology,
    job_creator: ['me'],
    rl_config: ['terminal-bench'],
    train_data: ['org/more'],
    val_data: ['org/val'],
    model_path: ['org/other'],
    skyrl_entrypoint: ['other.module'],
    skyrl: ['trainer.epochs=3'],
    final_model_name: ['named'],
    enable_hf_upload: ['true', '--job-creator', 'me'],
    hf_repo_name: ['org/result'],
  },
  eval: {
    ...everywhere,
    ...judged,
    gpus_per_node: ['4', '--set', 'vllm_server.tensor_parallel_size=4'],
    models_dir: ['/models', '--internet-node', 'false'],
    internet_node: ['false'],
    datagen_engine: ['openai'],
    datagen_config: ['FLAGS_DIR/engine.yaml'],
    datagen_backend: ['none'],
    set: ['vllm_server.tensor_parallel_size=2'],
    eval_benchmark: ['org/others'],
    eval_model: ['org/other'],
    eval_n_attempts: ['2'],
    eval_agent: ['oracle'],
    eval_output_dir: ['/out'],
    eval_extra_args: ['--n-concurrent 2'],
  },
  pretokenize: {
    ...everywhere,
    ...topology,
    datasets_dir: ['/datasets', '--internet-node', 'false'],
    tokenized_dir: ['/tokens'],
    train_config_path: ['qwen3-32b-small'],
    train_extra_args: ['--packing true'],
    base_model: ['org/base'],
    chat_template: ['llama3'],
  },
  consolidate: {
    ...everywhere,
    models_dir: ['/models'],
    internet_node: ['false'],
    consolidate_input: ['org/other'],
    consolidate_base_repo: ['org/base'],
    consolidate_output_repo: ['org/out'],
    consolidate_workdir: ['/work'],
    consolidate_commit_message: ['words', '--consolidate-output-repo', 'org/out'],
  },
}

describe.each(Object.entries(flags))('every flag of %s changes what would be submitted', (jobType, tried) => {
  const seen = new Map<string, Promise<Shown>>()
  const before = (more: readonly string[]) => {
    const made = seen.get(more.join(' ')) ?? dryRun(jobType, [...(usual[jobType] ?? []), ...more])
    seen.set(more.join(' '), made)
    return made
  }
  test.each(Object.entries(tried))('--%s', async (name, [value, ...more]) => {
    const flag = `--${name.replaceAll('_', '-')}`
    const after = await dryRun(jobType, [...(usual[jobType] ?? []), ...more, flag, value])
    expect(after.plan).not.toBe((await before(more)).plan)
    expect(after.notes).not.toContain(flag)
  })
})

test('every flag that help lists is for some job type', () => {
  const tried = new Set(Object.values(flags).flatMap((each) => Object.keys(each)))
  // test/e2e/launch-training.test.ts covers the training flags.
  const training = /^(Training|Arguments of LLaMA-Factory)/
  const inCommand = ['job_type', 'config', 'dry_run', 'explain', 'json']
  const left = settingSpecs
    .filter(({ name, group, hidden }) => !hidden && !training.test(group) && !tried.has(name))
    .map(({ name }) => name)
  expect(left.filter((name) => !inCommand.includes(name))).toEqual([])
})

test('a flag that a launch has no use for is named, and so is one that is only taken for old command lines', async () => {
  const words = [...(usual.consolidate ?? []), '--num-nodes', '3', '--pinggy-persistent-url', 'a.example']
  const { plan, notes } = await dryRun('consolidate', words)
  expect(notes).toContain('--num-nodes, --pinggy-persistent-url: has no effect in this consolidate launch')
  expect(plan).toBe((await dryRun('consolidate', usual.consolidate ?? [])).plan)
})
