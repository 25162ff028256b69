import { jobTypes } from '../../core/launch.ts'
import type { SettingKind, SettingSpec } from '../../run/launch/settings.ts'

type Line = readonly [name: string, kind: SettingKind, help: string, preset?: unknown, choices?: readonly string[]]

const launch: readonly Line[] = [
  ['job_type', 'text', 'what the launch is for; train is sft', undefined, [...jobTypes, 'train']],
  ['job_name', 'text', 'prefix of the job names (default: made from what the launch is for)'],
  ['job_creator', 'text', 'the author named for models and runs', 'DCAgent'],
  ['experiments_dir', 'text', 'where scripts, configs, logs, outputs and the journal are kept', 'experiments'],
  ['config', 'text', 'a YAML file of settings, with the names of the flags'],
  ['cluster', 'text', 'a cluster by its name, or a file of facts about one (default: the one this machine belongs to)'],
  ['time_limit', 'time', 'time limit of every job'],
  ['max_restarts', 'whole', 'how often an unfinished job is submitted again to resume', 0],
  ['stop_sec', 'whole', 'seconds before the time limit at which a job is told to stop and save', 120],
  ['dependency', 'text', 'what the first jobs wait for, in the syntax of sbatch: afterok:123'],
  ['num_nodes', 'whole', 'nodes of a training job'],
  ['num_gpus', 'whole', 'GPUs of a training job on each node'],
  ['array_max', 'whole', 'most tasks of an array that run at the same time'],
  ['dry_run', 'switch', 'print everything that would be submitted, and write nothing', false],
  ['explain', 'switch', 'print every setting and where its value comes from, and do nothing', false],
  ['json', 'switch', 'print the result as JSON', false],
]

const places: readonly Line[] = [
  ['name', 'text', 'another name for --cluster'],
  ['account', 'text', 'account to charge'],
  ['partition', 'text', 'partition of the cluster'],
  ['qos', 'text', 'quality of service'],
  ['exclude_nodes', 'list', 'nodes to leave out; repeatable'],
  ['gpus_per_node', 'whole', 'GPUs per node'],
  ['cpus_per_node', 'whole', 'processors per node'],
  ['mem_per_node_gb', 'whole', 'memory per node'],
  ['internet_node', 'switch', 'compute nodes reach the internet'],
  ['checkpoints_dir', 'text', 'where training leaves its checkpoints'],
  ['models_dir', 'text', 'where models are downloaded to'],
  ['datasets_dir', 'text', 'where datasets are downloaded to'],
  ['tokenized_dir', 'text', 'where tokenized datasets are kept'],
  ['image', 'text', 'a container image in which training runs'],
]

const datagen: readonly Line[] = [
  ['datagen_script', 'text', 'the pipeline, for example data/nl2bash/generate.ts'],
  ['datagen_target_repo', 'text', 'where tasks are published: org/name, or file:PATH'],
  [
    'datagen_engine',
    'text',
    'the model that makes tasks: vllm_local, openai, anthropic, google_gemini, none, or a file',
  ],
  ['datagen_config', 'text', 'an engine file, YAML or JSON'],
  ['datagen_backend', 'text', 'overrides backend.type of the engine file'],
  [
    'datagen_extra_args',
    'words',
    'more arguments for the pipeline, for example "--limit 200"; rows come from the real source unless it says --source',
  ],
  ['datagen_input_dir', 'text', 'input folder, for pipelines that read one'],
  ['datagen_output_dir', 'text', 'where tasks are written (default: outputs/tasks)'],
  ['enable_task_gen', 'switch', 'make tasks', true],
  ['enable_trace_gen', 'switch', 'run agents on the tasks', false],
  ['task_type', 'text', 'passed on to the pipeline'],
  ['set', 'list', 'any key of the engine file, for example vllm_server.model_path=Qwen/Qwen3-8B; repeatable'],
  ['sandbox_cpu', 'whole', 'processors for every task'],
  ['sandbox_memory_gb', 'whole', 'memory for every task'],
  ['sandbox_disk_gb', 'whole', 'disk for every task'],
  ['sandbox_gpu', 'whole', 'GPUs for every task'],
  ['chunk_size', 'whole', 'tasks per part; the parts run as an array and are joined at the end'],
  ['disable_verification', 'switch', 'do not run the tests after the agents'],
]

const traces: readonly Line[] = [
  ['trace_script', 'text', 'the pipeline whose traces stage is run (default: --datagen-script)'],
  ['trace_input_path', 'text', 'an existing folder of tasks (default: the output of the tasks job)'],
  ['trace_target_repo', 'text', 'where traces are published: org/name, or file:PATH'],
  ['trace_output_dir', 'text', 'where traces are written (default: outputs/traces)'],
  ['trace_jobs_dir', 'text', 'where trials are kept (default: trace_jobs)'],
  ['trace_harbor_config', 'text', 'a Harbor job file'],
  ['trace_model', 'text', 'model of the agent'],
  ['trace_engine', 'text', 'the model of the agent, if not the one of --datagen-engine'],
  ['trace_backend', 'text', 'overrides backend.type of the engine file of the agent'],
  ['trace_agent_name', 'text', 'agent'],
  ['trace_agent_kwargs', 'text', 'options of the agent, a JSON object'],
  ['trace_n_concurrent', 'whole', 'trials at once'],
  ['trace_n_attempts', 'whole', 'attempts of each task'],
  ['trace_env', 'text', 'kind of sandbox'],
  ['trace_episodes', 'text', 'last: one row per trial; all: one row per turn', undefined, ['last', 'all']],
  ['trace_export_filter', 'text', 'trials to export', undefined, ['success', 'failure', 'none']],
  ['trace_dataset_type', 'text', 'kept with the result'],
  ['trace_export_subagents', 'switch', 'export conversations of subagents as separate rows', true],
  ['trace_eval_only', 'switch', 'run and score, export nothing'],
  ['trace_use_gpu', 'switch', 'the agents themselves need a GPU: their job gets one'],
  ['trace_agent_timeout_sec', 'number', 'time limit of each agent'],
  ['trace_verifier_timeout_sec', 'number', 'time limit of the tests'],
  ['trace_endpoint_json', 'text', 'the endpoint file of a running server; none is started'],
]

const published: readonly Line[] = [
  ['tasks_repo', 'text', 'a dataset of tasks on the Hub: it is downloaded first, and agents run over it'],
  ['tasks_revision', 'text', 'branch, tag or commit of it'],
  ['parquet_name', 'text', 'only this parquet file of it'],
  ['overwrite', 'switch', 'replace tasks that were unpacked there before', false],
  ['vllm_model_path', 'text', 'the model to serve; the same as --set vllm_server.model_path=...'],
]

const recipe: readonly Line[] = [
  ['recipe', 'text', 'a recipe, for example recipes/demo.ts'],
  ['shards', 'whole', 'processes that share the recipe, as tasks of an array', 1],
  ['recipe_extra_args', 'words', 'more arguments for recipe run, for example "--set filter.min=3 --shard-rows 500"'],
  ['recipe_output_dir', 'text', 'where its rows and results are kept (default: outputs/recipe)'],
]

const training: readonly Line[] = [
  ['train_config_path', 'text', 'a training file; its keys override presets, and flags override it'],
  ['train_extra_args', 'words', 'any LLaMA-Factory argument, for example "--learning_rate 1e-5 --packing true"'],
  ['base_model', 'text', 'the model to start from'],
  ['chat_template', 'text', 'another chat template'],
  [
    'preflight',
    'switch',
    'read rows as the trainer will before anything is submitted: tokens, truncation, roles',
    true,
  ],
  ['use_mca', 'switch', 'train with Megatron-Core; the same as --job-type sft_mca'],
  ['pretokenize', 'switch', 'tokenize first, in a separate job'],
  ['consolidate_input', 'text', 'a directory of checkpoints, or a repository'],
  ['consolidate_base_repo', 'text', 'where missing small files are taken from'],
  ['consolidate_output_repo', 'text', 'where the consolidated model is published'],
  ['consolidate_workdir', 'text', 'working directory of the consolidation'],
  ['consolidate_commit_message', 'text', 'commit message'],
]

const rl: readonly Line[] = [
  ['rl_config', 'text', 'a preset of configs/rl, or a file'],
  ['train_data', 'list', 'tasks to train on: folders, parquet files or repositories; repeatable'],
  ['val_data', 'list', 'tasks to validate on; repeatable'],
  ['model_path', 'text', 'the model to start from'],
  ['skyrl_entrypoint', 'text', 'the Python module that trains'],
  ['skyrl', 'list', 'any key of SkyRL, as key=value; repeatable. -S is the same'],
  ['final_model_name', 'text', 'name of the model at the end'],
  ['enable_hf_upload', 'switch', 'upload the last checkpoint in a separate job'],
  ['hf_repo_name', 'text', 'where it is uploaded to'],
]

const evaluation: readonly Line[] = [
  ['eval_benchmark', 'text', 'a folder or a dataset of tasks'],
  ['eval_model', 'text', 'the model to score'],
  ['eval_n_attempts', 'whole', 'attempts of each task', 3],
  ['eval_agent', 'text', 'agent', 'terminus-2'],
  ['eval_output_dir', 'text', 'where the job and the report are kept (default: outputs/eval)'],
  ['eval_extra_args', 'words', 'more arguments for run'],
]

const judge: readonly Line[] = [
  ['judge_model', 'text', 'model that judges the results of tasks that ask for a judge'],
  ['judge_api_base', 'text', 'where that model is served'],
  ['judge_api_key_env', 'text', 'variable that holds its key; jobs read it from the file of keys'],
  ['judge_engine_kwarg', 'list', 'option of its engine, as key=value, for example its prices; repeatable'],
]

/** Taken for old command lines and files, and for what a cluster says of itself; they change nothing, so help does not list them and a launch says so. */
const ignored: readonly Line[] = [
  ['cpus_per_gpu', 'whole', 'a job gets the share of a node that goes with its GPUs'],
  ['gpus_type', 'text', 'a fact about the cluster'],
  ['total_partition_nodes', 'whole', 'a fact about the cluster'],
  ['pinggy_persistent_url', 'text', 'tunnels are not opened'],
  ['pinggy_ssh_command', 'text', 'tunnels are not opened'],
  ['pinggy_debugger_url', 'text', 'tunnels are not opened'],
  ['train_sbatch_path', 'text', 'scripts are composed here'],
  ['pretok_large', 'switch', 'tokenizing is a job on a node like any other'],
  ['watchdog_check_interval', 'whole', 'the upload is a job that depends on training'],
]

/** Arguments of LLaMA-Factory that have a flag of their own; any other goes into --train-extra-args. */
export const trainingArguments: readonly string[] = (
  'model_name_or_path stage do_train finetuning_type deepspeed packing neat_packing enable_liger_kernel attn dataset dataset_dir ' +
  'prompt_column query_column response_column history_column formatting template system messages cutoff_len overwrite_cache ' +
  'preprocessing_num_workers tools role_tag content_tag user_tag assistant_tag system_tag observation_tag function_tag mix_strategy interleave_probs streaming buffer_size ' +
  'max_samples val_size eval_on_each_dataset disable_shuffling save_strategy output_dir logging_steps plot_loss ' +
  'overwrite_output_dir per_device_train_batch_size gradient_accumulation_steps global_batch_size gradient_checkpointing ' +
  'learning_rate adam_beta1 adam_beta2 num_train_epochs lr_scheduler_type warmup_ratio weight_decay bf16 ddp_timeout report_to ' +
  'run_name seed max_grad_norm max_steps use_cpu use_unsloth_gc eval_strategy push_to_hub hub_model_id lora_rank lora_alpha lora_dropout'
).split(' ')

const groups: Readonly<Record<string, readonly Line[]>> = {
  'The launch': launch,
  'The place': places,
  'Tasks (datagen)': datagen,
  'Traces (datagen)': traces,
  'Tasks that are published (datagen)': published,
  'Recipes (recipe)': recipe,
  'Training (sft, sft_mca, pretokenize, consolidate)': training,
  'Reinforcement learning (rl)': rl,
  'Evaluation (eval)': evaluation,
  'Judge (datagen, eval)': judge,
  'Arguments of LLaMA-Factory': trainingArguments.map((name): Line => [name, 'text', argumentHelp(name)]),
}

/** What stands in dataset_info.json is looked up in the dataset; flags are for what cannot be seen there. */
function argumentHelp(name: string): string {
  if (name === 'dataset')
    return 'what to train on: a folder of a recipe or of traces export, a file, org/name, or names of --dataset-dir; with a comma, several'
  if (name === 'dataset_dir') return 'a folder with a dataset_info.json that lists the datasets'
  if (name.endsWith('_tag')) return 'as in dataset_info.json (default: detected from the rows)'
  if (/(_column|^system|^tools|^messages)$/.test(name)) return 'name of that column (default: detected from the rows)'
  if (name === 'formatting') return 'sharegpt, openai or alpaca (default: detected from the rows)'
  return 'passed to LLaMA-Factory'
}

/** Everything a launch can be told. */
export const settingSpecs: readonly SettingSpec[] = [
  ...Object.entries(groups).flatMap(([group, lines]) => lines.map((line) => specOf(group, line))),
  ...ignored.map((line) => ({ ...specOf('Ignored', line), hidden: true })),
]

function specOf(group: string, [name, kind, help, preset, choices]: Line): SettingSpec {
  return { group, name, kind, help, preset, choices }
}
