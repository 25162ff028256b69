import { jobTypes } from '../../core/launch.ts'
import type { SettingKind, SettingSpec } from '../../run/launch/settings.ts'
import { columnFlags, tagFlags, trainerFlags } from './trainer-flags.ts'

/** A setting: its kind, help text and default. `Value` is its type in a request. */
interface Line<Value> extends Pick<SettingSpec, 'kind' | 'help' | 'preset' | 'choices' | 'short'> {
  readonly value?: Value
}

const kind =
  <Value>(kind: SettingKind) =>
  (help: string, more: { preset?: Value; short?: string } = {}): Line<Value> => ({ kind, help, ...more })

const text = kind<string>('text')
const oneOf = <const Value extends string>(help: string, choices: readonly Value[]): Line<Value> => ({
  ...{ kind: 'text', help, choices },
})
const whole = kind<number>('whole')
const number = kind<number>('number')
const yesNo = kind<boolean>('switch')
const time = kind<string>('time')
const words = kind<string | readonly string[]>('words')
const list = kind<readonly string[]>('list')
/** A LLaMA-Factory argument, parsed by LLaMA-Factory itself. */
const argument = kind<string | number | boolean>('text')

/** Every setting of a launch, by the group's name in `launch --help traces`. */
const groups = {
  launch: {
    title: 'The launch',
    settings: {
      job_type: oneOf('type of the launch; train means sft', [...jobTypes, 'train']),
      job_name: text('prefix of the job names (default: derived from the launch)'),
      job_creator: text('author to record for models and runs (default: none)'),
      experiments_dir: text('where to keep scripts, configs, logs, outputs and the journal', {
        preset: 'experiments',
      }),
      config: text('a YAML file of settings, named like the flags'),
      cluster: text('name of a cluster, or a cluster file (default: the cluster this machine belongs to)'),
      time_limit: time('time limit of every job'),
      max_restarts: whole('how many times to resubmit an unfinished job, which then resumes', { preset: 0 }),
      stop_sec: whole('seconds before the time limit when a job is asked to save and stop', { preset: 120 }),
      dependency: text('dependency of the first jobs, in the syntax of sbatch: afterok:123'),
      num_nodes: whole('nodes of a training job'),
      num_gpus: whole('GPUs of a training job per node'),
      array_max: whole('maximum number of array tasks that run at the same time'),
      dry_run: yesNo('print everything that would be submitted, and write nothing', { preset: false }),
      explain: yesNo('print every setting and where its value comes from, and do nothing', { preset: false }),
      json: yesNo('print the result as JSON', { preset: false }),
    },
  },
  place: {
    title: 'Cluster',
    settings: {
      name: text('another name for --cluster'),
      account: text('account to charge'),
      partition: text('partition of the cluster'),
      qos: text('quality of service'),
      exclude_nodes: list('nodes to exclude; repeatable'),
      gpus_per_node: whole('GPUs per node'),
      cpus_per_node: whole('CPUs per node'),
      mem_per_node_gb: whole('memory per node'),
      internet_node: yesNo('compute nodes reach the internet'),
      checkpoints_dir: text('where training writes its checkpoints'),
      models_dir: text('where to download models to'),
      datasets_dir: text('where to download datasets to'),
      tokenized_dir: text('where to keep tokenized datasets'),
      image: text('container image to run training in'),
    },
  },
  tasks: {
    title: 'Tasks (datagen)',
    settings: {
      datagen_script: text('the pipeline: a file, or the name of one that comes with ot-agent, such as nl2bash'),
      datagen_target_repo: text('where to publish tasks: org/name, or file:PATH'),
      datagen_engine: text(
        'engine of the model that writes tasks: vllm_local, openai, anthropic, google_gemini, none, or a file',
      ),
      datagen_config: text('an engine file, YAML or JSON'),
      datagen_backend: text('overrides backend.type of the engine file'),
      datagen_extra_args: words(
        'more arguments for the pipeline, for example "--limit 200"; rows come from the real source unless they include --source',
      ),
      datagen_input_dir: text('input folder, for pipelines that read one'),
      datagen_output_dir: text('where to write tasks (default: outputs/tasks)'),
      enable_task_gen: yesNo('make tasks', { preset: true }),
      enable_trace_gen: yesNo('run agents on the tasks', { preset: false }),
      task_type: text('passed to the pipeline'),
      set: list('any key of the engine file, for example vllm_server.model_path=Qwen/Qwen3-8B; repeatable'),
      sandbox_cpu: whole('CPUs for every task'),
      sandbox_memory_gb: whole('memory for every task'),
      sandbox_disk_gb: whole('disk for every task'),
      sandbox_gpu: whole('GPUs for every task'),
      chunk_size: whole('tasks per part; the parts run as an array and are merged at the end'),
      disable_verification: yesNo('do not run the tests after the agents'),
    },
  },
  traces: {
    title: 'Traces (datagen)',
    settings: {
      trace_script: text('the pipeline whose traces stage to run (default: --datagen-script)'),
      trace_input_path: text('an existing folder of tasks (default: the output of the tasks job)'),
      trace_target_repo: text('where to publish traces: org/name, or file:PATH'),
      trace_output_dir: text('where to write traces (default: outputs/traces)'),
      trace_jobs_dir: text('where to keep trials (default: trace_jobs)'),
      trace_store: oneOf('harbor: a directory for each trial; packed: a few files for each job', ['harbor', 'packed']),
      trace_harbor_config: text('a Harbor job file'),
      trace_model: text('model of the agent'),
      trace_engine: text('the model of the agent, if not the one of --datagen-engine'),
      trace_backend: text('overrides backend.type of the engine file of the agent'),
      trace_agent_name: text('agent'),
      trace_agent_kwargs: text('options of the agent, a JSON object'),
      trace_n_concurrent: whole('trials to run at the same time'),
      trace_n_attempts: whole('attempts at each task'),
      trace_env: text('kind of sandbox'),
      trace_episodes: oneOf('last: one row per trial; all: one row per turn', ['last', 'all']),
      trace_export_filter: oneOf('trials to export', ['success', 'failure', 'none']),
      trace_dataset_type: text('recorded with the result'),
      trace_export_subagents: yesNo('export conversations of subagents as separate rows', { preset: true }),
      trace_eval_only: yesNo('run and score, export nothing'),
      trace_use_gpu: yesNo('give the job of the agents a GPU, if the agents themselves need one'),
      trace_agent_timeout_sec: number('time limit of each agent'),
      trace_verifier_timeout_sec: number('time limit of the tests'),
      trace_endpoint_json: text('endpoint file of a running server to use, instead of starting one'),
    },
  },
  published: {
    title: 'Published tasks (datagen)',
    settings: {
      tasks_repo: text('a dataset of tasks on the Hub to download and run agents on'),
      tasks_revision: text('branch, tag or commit of that dataset'),
      parquet_name: text('only this parquet file of that dataset'),
      overwrite: yesNo('replace tasks unpacked by an earlier launch', { preset: false }),
      vllm_model_path: text('the model to serve; the same as --set vllm_server.model_path=...'),
    },
  },
  recipes: {
    title: 'Recipes (recipe)',
    settings: {
      recipe: text('a recipe, for example recipes/demo.ts'),
      shards: whole('number of processes that share the recipe, as array tasks', { preset: 1 }),
      recipe_extra_args: words('more arguments for recipe run, for example "--set filter.min=3 --shard-rows 500"'),
      recipe_output_dir: text('where to keep its rows and results (default: outputs/recipe)'),
    },
  },
  training: {
    title: 'Training (sft, sft_mca, pretokenize, consolidate)',
    settings: {
      trainer: oneOf('llama-factory, or small: students of 1 to 100 million parameters (default: llama-factory)', [
        'llama-factory',
        'small',
      ]),
      train_launcher: oneOf('launcher for the processes of LLaMA-Factory (default: torchrun)', [
        'torchrun',
        'accelerate',
      ]),
      train_config_path: text('a training file; its keys override presets, and flags override it'),
      train_extra_args: words('any argument of the trainer, for example "--learning_rate 1e-5 --packing true"'),
      base_model: text('the model to start from'),
      chat_template: text('use another chat template'),
      preflight: yesNo('before submitting, read rows as the trainer will, to check tokens, truncation and roles', {
        preset: true,
      }),
      use_mca: yesNo('train with Megatron-Core; the same as --job-type sft_mca'),
      pretokenize: yesNo('tokenize first, in a separate job'),
      consolidate_input: text('a directory of checkpoints, or a repository'),
      consolidate_base_repo: text('where to copy missing small files from'),
      consolidate_output_repo: text('where to publish the consolidated model'),
      consolidate_workdir: text('working directory of the consolidation'),
      consolidate_commit_message: text('commit message'),
    },
  },
  'reinforcement-learning': {
    title: 'Reinforcement learning (rl)',
    settings: {
      rl_config: text('a preset of configs/rl, or a file'),
      train_data: list('tasks to train on: folders, parquet files or repositories; repeatable'),
      val_data: list('tasks to validate on; repeatable'),
      model_path: text('the model to start from'),
      skyrl_entrypoint: text('the Python module that trains'),
      skyrl: list('any key of SkyRL, as key=value; repeatable', { short: '-S' }),
      final_model_name: text('name of the model at the end'),
      enable_hf_upload: yesNo('upload the last checkpoint in a separate job'),
      hf_repo_name: text('where to upload it'),
    },
  },
  evaluation: {
    title: 'Evaluation (eval)',
    settings: {
      eval_benchmark: text('a folder or a dataset of tasks'),
      eval_model: text('the model to score'),
      eval_n_attempts: whole('attempts at each task', { preset: 3 }),
      eval_agent: text('agent', { preset: 'terminus-2' }),
      eval_output_dir: text('where to keep the job and the report (default: outputs/eval)'),
      eval_extra_args: words('more arguments for run'),
    },
  },
  judge: {
    title: 'Judge (datagen, eval)',
    settings: {
      judge_model: text('model to judge the results of tasks that ask for a judge'),
      judge_api_base: text('address of its server'),
      judge_api_key_env: text('environment variable with its API key; jobs read it from the file of keys'),
      judge_engine_kwarg: list('option of its engine, as key=value, for example its prices; repeatable'),
    },
  },
  'llama-factory': {
    title: 'Arguments of LLaMA-Factory',
    settings: {
      dataset: argument(
        'what to train on: a folder of a recipe or of traces export, a file, org/name, or names of --dataset-dir; with a comma, several',
      ),
      dataset_dir: argument('a folder with a dataset_info.json that lists the datasets'),
      // Flags exist only for what cannot be detected from the rows.
      formatting: argument('sharegpt, openai or alpaca (default: detected from the rows)'),
      ...each(
        Object.keys(columnFlags) as (keyof typeof columnFlags)[],
        'name of that column (default: detected from the rows)',
      ),
      ...each(tagFlags, 'as in dataset_info.json (default: detected from the rows)'),
      ...each(trainerFlags, 'passed to LLaMA-Factory'),
    },
  },
}

/**
 * Accepted in old command lines and files, and in cluster descriptions; they have no effect, so help does not list them
 * and a launch notes them.
 */
const ignored = {
  cpus_per_gpu: whole('a job gets the share of a node that matches its GPUs'),
  gpus_type: text('set it in the cluster file'),
  total_partition_nodes: whole('set it in the cluster file'),
  pinggy_persistent_url: text('a tunnel is part of the engine file: vllm_server.tunnel'),
  pinggy_ssh_command: text('a tunnel is part of the engine file: vllm_server.tunnel'),
  pinggy_debugger_url: text('a tunnel is part of the engine file: vllm_server.tunnel'),
  train_sbatch_path: text('ot-agent writes the scripts itself'),
  pretok_large: yesNo('tokenizing runs as an ordinary job on a node'),
  watchdog_check_interval: whole('the upload is a job that depends on training'),
}

function each<const Name extends string>(names: readonly Name[], help: string) {
  return Object.fromEntries(names.map((name) => [name, argument(help)])) as Record<
    Name,
    Line<string | number | boolean>
  >
}

/** A group of settings: its heading and its names. */
export interface SettingGroup {
  readonly title: string
  /** `training`, and the types of launch it applies to: `sft`. */
  readonly words: readonly string[]
}

export const settingGroups: readonly SettingGroup[] = Object.entries(groups).map(([word, { title }]) => ({
  title,
  words: [word, ...(/\((.*)\)/.exec(title)?.[1]?.split(', ') ?? [])],
}))

/** All settings. */
export const settingSpecs: readonly SettingSpec[] = [
  ...Object.values(groups).flatMap(({ title, settings }) => specsOf(title, settings)),
  ...specsOf('Ignored', ignored).map((spec) => ({ ...spec, hidden: true })),
]

function specsOf(group: string, settings: Readonly<Record<string, Line<unknown>>>): SettingSpec[] {
  return Object.entries(settings).map(([name, line]) => ({ group, name, ...line }))
}

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name
type Tables = (typeof groups)[keyof typeof groups]['settings']
type NamesOf<Table> = Table extends unknown ? keyof Table & string : never
type ValueOf<Table, Name extends string> = Table extends Readonly<Record<Name, Line<infer Value>>> ? Value : never

/**
 * What to launch: the flags of `ot-agent launch` in camel case. Everything except `jobType` has a default or belongs to
 * one kind of launch.
 */
export type LaunchRequest = {
  readonly [Name in Exclude<NamesOf<Tables>, 'json' | 'explain'> as Camel<Name>]?: ValueOf<Tables, Name> | undefined
}

/** `trace_model` becomes `traceModel`. */
export function camelOf(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
