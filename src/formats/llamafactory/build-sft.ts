import { UserError } from '../../core/errors.ts'
import { renderYaml } from '../../lib/render-yaml.ts'
import { accelerateConfig, deepspeedStages } from './accelerate.ts'
import { accumulationSteps, type Topology } from './batch.ts'
import { megatronKeys } from './known-keys.ts'
import { checkTrainingValues, type TrainingValues } from './training-values.ts'

/** How GPUs share a model: one of the two, never both. */
export type Strategy =
  | { readonly kind: 'deepspeed'; readonly stage: keyof typeof deepspeedStages | null }
  | { readonly kind: 'fsdp2' }
  /** Megatron shards on its own. */
  | { readonly kind: 'megatron' }
  /** Each process holds the whole model. */
  | { readonly kind: 'none' }

export interface SftRequest {
  /** Used in the names of the files and the run. */
  readonly jobName: string
  /** A preset's values, and their origin for messages. */
  readonly preset: TrainingValues
  readonly presetFile: string
  /** Values from flags that override the preset, already parsed. */
  readonly overrides: TrainingValues
  readonly topology: Topology
  readonly launcher: 'torchrun' | 'accelerate'
  /** Used if neither preset nor overrides say how to share the model. */
  readonly strategy?: Strategy | undefined
  /** The training data, and the data held out for evaluation. */
  readonly datasets: readonly TrainingDataset[]
  readonly outputDir: string
  /** Where the job's files will be on the cluster. */
  readonly configDir: string
  /** The Hub account that gets the model if no repository is named; null leaves that to the trainer. */
  readonly hubOwner: string | null
  /** False for compute nodes without internet: they upload nothing, record runs offline, and get only local paths. */
  readonly internet: boolean
  /** Only tokenize, into this directory. */
  readonly pretokenize?: string | undefined
  /** Where existing tokens are. */
  readonly tokenized?: string | undefined
}

/** A dataset as an entry in dataset_info.json. */
export interface TrainingDataset {
  readonly name: string
  readonly use: 'train' | 'eval'
  readonly entry: Readonly<Record<string, unknown>>
}

/** Everything a training job needs. */
export interface SftPlan {
  readonly values: TrainingValues
  readonly strategy: Strategy['kind']
  /** File texts by name, relative to the config directory. */
  readonly files: Readonly<Record<string, string>>
  /** The command for one node; the job's script sets the variables. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Defaults for settings that were not given. */
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

/** A LLaMA-Factory training run as files and a command. */
export function buildSft(request: SftRequest): SftPlan {
  const asked = {
    ...checkTrainingValues(request.preset, request.presetFile),
    ...checkTrainingValues(request.overrides, 'overrides'),
  }
  const strategy = strategyOf(asked, request)
  refuseMegatron(asked, strategy)
  const batch = batchOf(request, asked)
  const steps = accumulationSteps(batch, request.topology)
  const { global_batch_size: _, ...kept } = asked
  const given = withoutStage(kept)
  const dataset = datasetValues(request, given)
  const values: TrainingValues = {
    ...usual,
    ...dataset.evaluation,
    ...given,
    ...dataset.values,
    ...(steps !== null && given.gradient_accumulation_steps === undefined && { gradient_accumulation_steps: steps }),
    ...(strategy.kind === 'deepspeed' &&
      given.deepspeed === undefined && { deepspeed: `${request.configDir}/${request.jobName}_deepspeed.json` }),
    output_dir: given.output_dir ?? request.outputDir,
    run_name: given.run_name ?? request.jobName,
    ...tokenizing(request),
    ...hubValues(request, given),
  }
  refuseUnequal(batch, steps)
  const accelerated = request.launcher === 'accelerate'
  return {
    values,
    strategy: strategy.kind,
    command: commandOf(request),
    env: {
      WANDB_NAME: request.jobName,
      ...(strategy.kind === 'megatron' && { USE_MCA: '1' }),
      ...(!request.internet && { WANDB_MODE: 'offline', HF_HUB_OFFLINE: '1' }),
    },
    files: {
      [`${request.jobName}_train_config.yaml`]: renderYaml(values),
      ...dataset.files,
      ...(strategy.kind === 'deepspeed' &&
        given.deepspeed === undefined && {
          [`${request.jobName}_deepspeed.json`]: `${JSON.stringify(deepspeedStages[strategy.stage ?? 'zero3'], null, 2)}\n`,
        }),
      ...(accelerated && {
        [`${request.jobName}_accelerate.yaml`]: renderYaml(accelerateConfig(strategy.kind, request.topology, values)),
      }),
    },
  }
}

function strategyOf(values: TrainingValues, { strategy, presetFile, topology }: SftRequest): Strategy {
  const fsdp = values.fsdp !== undefined || values.fsdp_config !== undefined
  const deepspeed = values.deepspeed !== undefined && values.deepspeed !== null
  if (fsdp && deepspeed)
    throw new UserError(
      `${presetFile}: expected DeepSpeed or FSDP, got both`,
      'keep `deepspeed`, or `fsdp` with `fsdp_config`, not both',
    )
  if (fsdp) return { kind: 'fsdp2' }
  if (values.use_mca === true) return { kind: 'megatron' }
  if (deepspeed) return { kind: 'deepspeed', stage: stageOf(values) }
  const isAlone = topology.nodes * topology.gpusPerNode === 1
  if (values.deepspeed === null || values.use_cpu === true || (isAlone && strategy === undefined))
    return { kind: 'none' }
  return strategy ?? { kind: 'deepspeed', stage: 'zero3' }
}

/** `deepspeed: zero3-offload` names one of our own files; anything else is the user's file. */
function stageOf({ deepspeed }: TrainingValues): keyof typeof deepspeedStages | null {
  return names.find((name) => name === deepspeed) ?? null
}

const names = Object.keys(deepspeedStages) as (keyof typeof deepspeedStages)[]

function withoutStage(values: TrainingValues): TrainingValues {
  if (stageOf(values) === null) return values
  const { deepspeed: _, ...rest } = values
  return rest
}

/** Refuses explicit accumulation steps that contradict the global batch size. */
function refuseUnequal(values: TrainingValues, steps: number | null): void {
  const stated = values.gradient_accumulation_steps
  if (steps === null || stated === undefined || stated === steps) return
  throw new UserError(
    `gradient_accumulation_steps is ${stated}, but a global batch of ${values.global_batch_size} needs ${steps}`,
    'use only one of them',
  )
}

/** Refuses Megatron keys without Megatron, which the trainer would only do after the job's time in the queue. */
function refuseMegatron(values: TrainingValues, { kind }: Strategy): void {
  const key = kind === 'megatron' ? undefined : Object.keys(megatronKeys).find((name) => values[name] !== undefined)
  if (key !== undefined)
    throw new UserError(`${key} is a key of Megatron, and this training does not use it`, 'add --use-mca')
}

/**
 * An explicit number of steps overrides a preset's global batch size: that is how a preset is tried out on a small
 * machine.
 */
function batchOf({ preset, overrides }: SftRequest, asked: TrainingValues): TrainingValues {
  const isOver = overrides.gradient_accumulation_steps !== undefined && overrides.global_batch_size === undefined
  const { global_batch_size: _, ...rest } = asked
  return isOver && preset.gradient_accumulation_steps === undefined ? rest : asked
}

/** Lists the datasets in the launch's own dataset_info.json; held-out data is evaluated after each epoch by default. */
function datasetValues({ datasets, configDir, jobName }: SftRequest, given: TrainingValues) {
  if (datasets.length === 0) return { values: {}, evaluation: {}, files: {} }
  const isSplit = typeof given.val_size === 'number' && given.val_size > 0
  const used = datasets.filter(({ use }) => use === 'train' || !isSplit)
  const names = used.map(({ name }) => name)
  const entries = used.map(({ name, use, entry }, i) => ({
    name: name === 'dataset' || names.indexOf(name) !== i ? `dataset_${i + 1}` : name,
    ...{ use, entry },
  }))
  const listed = (use: 'train' | 'eval') => entries.filter((each) => each.use === use).map(({ name }) => name)
  const held = listed('eval')
  const info = Object.fromEntries(entries.map(({ name, entry }) => [name, entry]))
  return {
    evaluation: held.length === 0 ? {} : { eval_strategy: 'epoch', per_device_eval_batch_size: 1 },
    values: {
      dataset: listed('train').join(','),
      ...(held.length > 0 && { eval_dataset: held.join(',') }),
      dataset_dir: `${configDir}/${jobName}_data`,
    },
    files: { [`${jobName}_data/dataset_info.json`]: `${JSON.stringify(info, null, 2)}\n` },
  }
}

/**
 * An uploaded model is named after its job. A node without internet uploads nothing, and can only record Weights &
 * Biases runs offline.
 */
function hubValues({ internet, hubOwner, jobName }: SftRequest, given: TrainingValues): TrainingValues {
  if (!internet) return { report_to: given.report_to === 'wandb' ? 'wandb' : 'none', push_to_hub: false }
  if (given.push_to_hub !== true || given.hub_model_id != null || hubOwner === null) return {}
  return { hub_model_id: hubNameOf(hubOwner, jobName) }
}

/** Makes a name that the Hub accepts: no dots, and no two dashes in a row. */
function hubNameOf(owner: string, name: string): string {
  const safe = (text: string) =>
    text
      .replaceAll('.', '_')
      .replaceAll(/[^\w-]+/g, '-')
      .replaceAll(/-{2,}/g, '-')
  return `${safe(owner)}/${safe(name)
    .slice(0, 96)
    .replaceAll(/^-+|-+$/g, '')}`
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
