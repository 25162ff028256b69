import { jobTypes } from '../../core/launch.ts'
import type { SettingKind, SettingSpec } from '../../run/launch/settings.ts'
import { columnFlags, tagFlags, trainerFlags } from './trainer-flags.ts'

/** What one setting takes, what it is for, and its default. `Value` is its type in a request. */
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
/** An argument of LLaMA-Factory, whose own parser reads it. */
const argument = kind<string | number | boolean>('text')

/** Everything a launch can be told, by the word that asks for a group of it: `launch --help traces`. */
const groups = {
  launch: {
    title: 'The launch',
    settings: {
      job_type: oneOf('what the launch is for; train is sft', [...jobTypes, 'train']),
      job_name: text('prefix of the job names (default: made from what the launch is for)'),
      job_creator: text('the author named for models and runs (default: none)'),
      experiments_dir: text('where scripts, configs, logs, outputs and the journal are kept', {
        preset: 'experiments',
      }),
      config: text('a YAML file of settings, with the names of the flags'),
      cluster: text('a cluster by its name, or a file of facts about one (default: the one this machine belongs to)'),
      time_limit: time('time limit of every job'),
      max_restarts: whole('how often an unfinished job is submitted again to resume', { preset: 0 }),
      stop_sec: whole('seconds before the time limit at which a job is told to stop and save', { preset: 120 }),
      dependency: text('what the first jobs wait for, in the syntax of sbatch: afterok:123'),
      num_nodes: whole('nodes of a training job'),
      num_gpus: whole('GPUs of a training job on each node'),
      array_max: whole('most tasks of an array that run at the same time'),
      dry_run: yesNo('print everything that would be submitted, and write nothing', { preset: false }),
      explain: yesNo('print every setting and where its value comes from, and do nothing', { preset: false }),
      json: yesNo('print the result as JSON', { preset: false }),
    },
  },
  place: {
    title: 'The place',
    settings: {
      name: text('another name for --cluster'),
      account: text('account to charge'),
      partition: text('partition of the cluster'),
      qos: text('quality of service'),
      exclude_nodes: list('nodes to leave out; repeatable'),
      gpus_per_node: whole('GPUs per node'),
      cpus_per_node: whole('processors per node'),
      mem_per_node_gb: whole('memory per node'),
      internet_node: yesNo('compute nodes reach the internet'),
      checkpoints_dir: text('where training leaves its checkpoints'),
      models_dir: text('where models are downloaded to'),
      datasets_dir: text('where datasets are downloaded to'),
      tokenized_dir: text('where tokenized datasets are kept'),
      image: text('a container image in which training runs'),
    },
  },
  tasks: {
    title: 'Tasks (datagen)',
    settings: {
      datagen_script: text('the pipeline, for example data/nl2bash/generate.ts'),
      datagen_target_repo: text('where tasks are published: org/name, or file:PATH'),
      datagen_engine: text('the model that makes tasks: vllm_local, openai, anthropic, google_gemini, none, or a file'),
      datagen_config: text('an engine file, YAML or JSON'),
      datagen_backend: text('overrides backend.type of the engine file'),
      datagen_extra_args: words(
        'more arguments for the pipeline, for example "--limit 200"; rows come from the real source unless it says --source',
      ),
      datagen_input_dir: text('input folder, for pipelines that read one'),
      datagen_output_dir: text('where tasks are written (default: outputs/tasks)'),
      enable_task_gen: yesNo('make tasks', { preset: true }),
      enable_trace_gen: yesNo('run agents on the tasks', { preset: false }),
      task_type: text('passed on to the pipeline'),
      set: list('any key of the engine file, for example vllm_server.model_path=Qwen/Qwen3-8B; repeatable'),
      sandbox_cpu: whole('processors for every task'),
      sandbox_memory_gb: whole('memory for every task'),
      sandbox_disk_gb: whole('disk for every task'),
      sandbox_gpu: whole('GPUs for every task'),
      chunk_size: whole('tasks per part; the parts run as an array and are joined at the end'),
      disable_verification: yesNo('do not run the tests after the agents'),
    },
  },
  traces: {
    title: 'Traces (datagen)',
    settings: {
      trace_script: text('the pipeline whose traces stage is run (default: --datagen-script)'),
      trace_input_path: text('an existing folder of tasks (default: the output of the tasks job)'),
      trace_target_repo: text('where traces are published: org/name, or file:PATH'),
      trace_output_dir: text('where traces are written (default: outputs/traces)'),
      trace_jobs_dir: text('where trials are kept (default: trace_jobs)'),
      trace_store: oneOf('harbor: a directory for each trial; packed: a few files for each job', ['harbor', 'packed']),
      trace_harbor_config: text('a Harbor job file'),
      trace_model: text('model of the agent'),
      trace_engine: text('the model of the agent, if not the one of --datagen-engine'),
      trace_backend: text('overrides backend.type of the engine file of the agent'),
      trace_agent_name: text('agent'),
      trace_agent_kwargs: text('options of the agent, a JSON object'),
      trace_n_concurrent: whole('trials at once'),
      trace_n_attempts: whole('attempts of each task'),
      trace_env: text('kind of sandbox'),
      trace_episodes: oneOf('last: one row per trial; all: one row per turn', ['last', 'all']),
      trace_export_filter: oneOf('trials to export', ['success', 'failure', 'none']),
      trace_dataset_type: text('kept with the result'),
      trace_export_subagents: yesNo('export conversations of subagents as separate rows', { preset: true }),
      trace_eval_only: yesNo('run and score, export nothing'),
      trace_use_gpu: yesNo('the agents themselves need a GPU: their job gets one'),
      trace_agent_timeout_sec: number('time limit of each agent'),
      trace_verifier_timeout_sec: number('time limit of the tests'),
      trace_endpoint_json: text('the endpoint file of a running server; none is started'),
    },
  },
  published: {
    title: 'Tasks that are published (datagen)',
    settings: {
      tasks_repo: text('a dataset of tasks on the Hub: it is downloaded first, and agents run over it'),
      tasks_revision: text('branch, tag or commit of it'),
      parquet_name: text('only this parquet file of it'),
      overwrite: yesNo('replace tasks that were unpacked there before', { preset: false }),
      vllm_model_path: text('the model to serve; the same as --set vllm_server.model_path=...'),
    },
  },
  recipes: {
    title: 'Recipes (recipe)',
    settings: {
      recipe: text('a recipe, for example recipes/demo.ts'),
      shards: whole('processes that share the recipe, as tasks of an array', { preset: 1 }),
      recipe_extra_args: words('more arguments for recipe run, for example "--set filter.min=3 --shard-rows 500"'),
      recipe_output_dir: text('where its rows and results are kept (default: outputs/recipe)'),
    },
  },
  training: {
    title: 'Training (sft, sft_mca, pretokenize, consolidate)',
    settings: {
      trainer: oneOf('llama-factory, or small: students of 1 to 100 million parameters (default: llama-factory)', [
        'llama-factory',
        'small',
      ]),
      train_launcher: oneOf('what starts the processes of LLaMA-Factory (default: torchrun)', [
        'torchrun',
        'accelerate',
      ]),
      train_config_path: text('a training file; its keys override presets, and flags override it'),
      train_extra_args: words('any argument of the trainer, for example "--learning_rate 1e-5 --packing true"'),
      base_model: text('the model to start from'),
      chat_template: text('another chat template'),
      preflight: yesNo('read rows as the trainer will before anything is submitted: tokens, truncation, roles', {
        preset: true,
      }),
      use_mca: yesNo('train with Megatron-Core; the same as --job-type sft_mca'),
      pretokenize: yesNo('tokenize first, in a separate job'),
      consolidate_input: text('a directory of checkpoints, or a repository'),
      consolidate_base_repo: text('where missing small files are taken from'),
      consolidate_output_repo: text('where the consolidated model is published'),
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
      hf_repo_name: text('where it is uploaded to'),
    },
  },
  evaluation: {
    title: 'Evaluation (eval)',
    settings: {
      eval_benchmark: text('a folder or a dataset of tasks'),
      eval_model: text('the model to score'),
      eval_n_attempts: whole('attempts of each task', { preset: 3 }),
      eval_agent: text('agent', { preset: 'terminus-2' }),
      eval_output_dir: text('where the job and the report are kept (default: outputs/eval)'),
      eval_extra_args: words('more arguments for run'),
    },
  },
  judge: {
    title: 'Judge (datagen, eval)',
    settings: {
      judge_model: text('model that judges the results of tasks that ask for a judge'),
      judge_api_base: text('where that model is served'),
      judge_api_key_env: text('variable that holds its key; jobs read it from the file of keys'),
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
      // Flags are for what cannot be seen in the rows.
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

/** Taken for old command lines and files, and for what a cluster says of itself; they change nothing, so help does not list them and a launch says so. */
const ignored = {
  cpus_per_gpu: whole('a job gets the share of a node that goes with its GPUs'),
  gpus_type: text('a fact about the cluster'),
  total_partition_nodes: whole('a fact about the cluster'),
  pinggy_persistent_url: text('a tunnel is part of the engine file: vllm_server.tunnel'),
  pinggy_ssh_command: text('a tunnel is part of the engine file: vllm_server.tunnel'),
  pinggy_debugger_url: text('a tunnel is part of the engine file: vllm_server.tunnel'),
  train_sbatch_path: text('scripts are composed here'),
  pretok_large: yesNo('tokenizing is a job on a node like any other'),
  watchdog_check_interval: whole('the upload is a job that depends on training'),
}

function each<const Name extends string>(names: readonly Name[], help: string) {
  return Object.fromEntries(names.map((name) => [name, argument(help)])) as Record<
    Name,
    Line<string | number | boolean>
  >
}

/** A group of settings: its heading, and the words that ask for it. */
export interface SettingGroup {
  readonly title: string
  /** `training`, and the types of launch it is for: `sft`. */
  readonly words: readonly string[]
}

export const settingGroups: readonly SettingGroup[] = Object.entries(groups).map(([word, { title }]) => ({
  title,
  words: [word, ...(/\((.*)\)/.exec(title)?.[1]?.split(', ') ?? [])],
}))

/** Every setting there is. */
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

/** What to launch: the flags of `ot-agent launch` in camel case. Everything but `jobType` has a default, or is part of one kind of launch. */
export type LaunchRequest = {
  readonly [Name in Exclude<NamesOf<Tables>, 'json' | 'explain'> as Camel<Name>]?: ValueOf<Tables, Name> | undefined
}

/** `trace_model` is `traceModel` in a request. */
export function camelOf(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
