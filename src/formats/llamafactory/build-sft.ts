import { stringify } from 'yaml'
import { UserError } from '../../core/errors.ts'
import { accelerateConfig } from './accelerate.ts'
import { accumulationSteps, type Topology } from './batch.ts'
import { deepspeedStages } from './deepspeed.ts'
import { checkTrainingValues, type TrainingValues } from './training-values.ts'

/** How many GPUs share a model: one of the two, never both. */
export type Strategy =
  | { readonly kind: 'deepspeed'; readonly stage: keyof typeof deepspeedStages | null }
  | { readonly kind: 'fsdp2' }
  /** Megatron shards by itself. */
  | { readonly kind: 'megatron' }

export interface SftRequest {
  /** Names the files and the run. */
  readonly jobName: string
  /** A preset's values, and where they come from for messages. */
  readonly preset: TrainingValues
  readonly presetFile: string
  /** Values over the preset: flags, already of their kinds. */
  readonly overrides: TrainingValues
  readonly topology: Topology
  readonly launcher: 'torchrun' | 'accelerate'
  /** Used where neither the preset nor the overrides say how to share the model. */
  readonly strategy?: Strategy | undefined
  /** Hub names or local directories of datasets, in our own export format or ShareGPT's. */
  readonly datasets: readonly string[]
  readonly outputDir: string
  /** Where the files of the job will be on the cluster. */
  readonly configDir: string
  /** Compute nodes without internet get no reporting, no upload, and local paths only. */
  readonly internet: boolean
  /** Only tokenize, into this directory. */
  readonly pretokenize?: string | undefined
  /** Already tokenized here. */
  readonly tokenized?: string | undefined
}

/** Everything a training job needs. */
export interface SftPlan {
  readonly values: TrainingValues
  readonly strategy: Strategy['kind']
  /** By name below the config directory. */
  readonly files: Readonly<Record<string, string>>
  /** The command of one node; the variables are set by the job's script. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Fills what nobody said, never what somebody did. */
const usual: TrainingValues = {
  stage: 'sft',
  do_train: true,
  finetuning_type: 'full',
  cutoff_len: 32768,
  overwrite_cache: false,
  logging_steps: 1,
  save_strategy: 'epoch',
  seed: 42,
  ddp_timeout: 180000000,
  bf16: true,
}

/** A training run of LLaMA-Factory as files and a command. */
export function buildSft(request: SftRequest): SftPlan {
  const asked = {
    ...checkTrainingValues(request.preset, request.presetFile),
    ...checkTrainingValues(request.overrides, 'overrides'),
  }
  const strategy = strategyOf(asked, request)
  const steps = accumulationSteps(asked, request.topology)
  const { global_batch_size: _, ...given } = asked
  const dataset = datasetValues(request)
  const values: TrainingValues = {
    ...usual,
    ...given,
    ...dataset.values,
    ...(steps !== null && given.gradient_accumulation_steps === undefined && { gradient_accumulation_steps: steps }),
    ...(strategy.kind === 'deepspeed' &&
      given.deepspeed === undefined && { deepspeed: `${request.configDir}/${request.jobName}_deepspeed.json` }),
    output_dir: given.output_dir ?? request.outputDir,
    run_name: given.run_name ?? request.jobName,
    ...tokenizing(request),
    ...(!request.internet && { report_to: 'none', push_to_hub: false }),
  }
  refuseUnequal(asked, steps)
  const accelerated = request.launcher === 'accelerate'
  return {
    values,
    strategy: strategy.kind,
    command: commandOf(request),
    env: { WANDB_NAME: request.jobName, ...(!request.internet && { WANDB_MODE: 'offline', HF_HUB_OFFLINE: '1' }) },
    files: {
      [`${request.jobName}_train_config.yaml`]: stringify(values),
      ...dataset.files,
      ...(strategy.kind === 'deepspeed' &&
        given.deepspeed === undefined && {
          [`${request.jobName}_deepspeed.json`]: `${JSON.stringify(deepspeedStages[strategy.stage ?? 'zero3'], null, 2)}\n`,
        }),
      ...(accelerated && {
        [`${request.jobName}_accelerate.yaml`]: stringify(accelerateConfig(strategy.kind, request.topology, values)),
      }),
    },
  }
}

function strategyOf(values: TrainingValues, { strategy, presetFile }: SftRequest): Strategy {
  const fsdp = values.fsdp !== undefined || values.fsdp_config !== undefined
  const deepspeed = values.deepspeed !== undefined && values.deepspeed !== null
  if (fsdp && deepspeed)
    throw new UserError(
      `${presetFile} asks for both DeepSpeed and FSDP`,
      'keep `deepspeed`, or `fsdp` with `fsdp_config`, not both',
    )
  if (fsdp) return { kind: 'fsdp2' }
  if (values.use_mca === true || values.use_megatron_bridge === true) return { kind: 'megatron' }
  if (deepspeed) return { kind: 'deepspeed', stage: null }
  return strategy ?? { kind: 'deepspeed', stage: 'zero3' }
}

/** Steps that a file states itself must be those the global batch needs. */
function refuseUnequal(values: TrainingValues, steps: number | null): void {
  const stated = values.gradient_accumulation_steps
  if (steps === null || stated === undefined || stated === steps) return
  throw new UserError(
    `gradient_accumulation_steps is ${stated}, but a global batch of ${values.global_batch_size} needs ${steps}`,
    'leave one of the two out',
  )
}

/** Datasets under names of our own, with the tags their rows are written with. */
function datasetValues({ datasets, configDir, jobName }: SftRequest) {
  if (datasets.length === 0) return { values: {}, files: {} }
  const columns = { messages: 'conversations' }
  const tags = { role_tag: 'role', content_tag: 'content', user_tag: 'user', assistant_tag: 'assistant' }
  const entries = datasets.map((dataset, i) => {
    // A folder is laid out as on the Hub, with a card and data files, which only the Hub's own library understands.
    const isFile = /\.(json|jsonl|csv|parquet|arrow|txt)$/.test(dataset)
    const place = isFile ? { file_name: dataset } : { hf_hub_url: dataset }
    return [`dataset_${i + 1}`, { ...place, formatting: 'sharegpt', columns, tags }] as const
  })
  return {
    values: { dataset: entries.map(([name]) => name).join(','), dataset_dir: `${configDir}/${jobName}_data` },
    files: { [`${jobName}_data/dataset_info.json`]: `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n` },
  }
}

function tokenizing({ pretokenize, tokenized }: SftRequest): TrainingValues {
  if (pretokenize !== undefined) return { tokenized_path: pretokenize, do_train: false }
  return tokenized === undefined ? {} : { tokenized_path: tokenized }
}

function commandOf({ launcher, configDir, jobName, topology, pretokenize }: SftRequest): readonly string[] {
  const config = `${configDir}/${jobName}_train_config.yaml`
  if (pretokenize !== undefined) return ['llamafactory-cli', 'train', config]
  const { nodes, gpusPerNode } = topology
  const meeting = ['$MASTER_ADDR', '$MASTER_PORT', '$SLURM_NODEID'] as const
  if (launcher === 'accelerate')
    return [
      ...['accelerate', 'launch', '--config_file', `${configDir}/${jobName}_accelerate.yaml`],
      ...['--num_machines', String(nodes), '--num_processes', String(nodes * gpusPerNode)],
      ...['--main_process_ip', meeting[0], '--main_process_port', meeting[1], '--machine_rank', meeting[2]],
      ...['-m', 'llamafactory.launcher', config],
    ]
  return [
    ...['torchrun', '--nnodes', String(nodes), '--nproc_per_node', String(gpusPerNode)],
    ...['--master_addr', meeting[0], '--master_port', meeting[1], '--node_rank', meeting[2]],
    ...['-m', 'llamafactory.launcher', config],
  ]
}
