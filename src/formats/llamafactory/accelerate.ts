import type { Topology } from './batch.ts'
import type { TrainingValues } from './training-values.ts'

/** The file for `accelerate launch`, depending on how the model is sharded. */
export function accelerateConfig(
  strategy: 'deepspeed' | 'fsdp2' | 'megatron' | 'none',
  { nodes, gpusPerNode }: Topology,
  values: TrainingValues,
): Readonly<Record<string, unknown>> {
  const common = {
    compute_environment: 'LOCAL_MACHINE',
    num_machines: nodes,
    num_processes: nodes * gpusPerNode,
    mixed_precision: values.bf16 === true ? 'bf16' : values.fp16 === true ? 'fp16' : 'no',
    rdzv_backend: 'static',
    same_network: true,
    use_cpu: values.use_cpu === true,
  }
  if (strategy === 'deepspeed')
    return {
      ...common,
      distributed_type: 'DEEPSPEED',
      deepspeed_config: {
        deepspeed_config_file: values.deepspeed,
        deepspeed_multinode_launcher: 'standard',
        zero3_init_flag: true,
      },
    }
  if (strategy === 'fsdp2') return { ...common, distributed_type: 'FSDP', fsdp_config: fsdpConfig(values.fsdp_config) }
  return { ...common, distributed_type: strategy === 'none' ? 'NO' : 'MULTI_GPU' }
}

/** A preset's FSDP settings over the defaults. */
function fsdpConfig(stated: unknown): Readonly<Record<string, unknown>> {
  const own = typeof stated === 'object' && stated !== null ? stated : {}
  return {
    fsdp_version: 2,
    fsdp_auto_wrap_policy: 'TRANSFORMER_BASED_WRAP',
    fsdp_reshard_after_forward: true,
    fsdp_cpu_ram_efficient_loading: true,
    fsdp_offload_params: false,
    fsdp_state_dict_type: 'SHARDED_STATE_DICT',
    ...own,
  }
}

const everyStage = {
  train_batch_size: 'auto',
  train_micro_batch_size_per_gpu: 'auto',
  gradient_accumulation_steps: 'auto',
  gradient_clipping: 'auto',
  zero_allow_untested_optimizer: true,
  bf16: { enabled: 'auto' },
  fp16: {
    enabled: 'auto',
    loss_scale: 0,
    initial_scale_power: 16,
    loss_scale_window: 1000,
    hysteresis: 2,
    min_loss_scale: 1,
  },
}

const shared = { overlap_comm: false, contiguous_gradients: true, reduce_bucket_size: 'auto' }
const gathered = {
  stage3_prefetch_bucket_size: 'auto',
  stage3_param_persistence_threshold: 'auto',
  stage3_max_live_parameters: 1e9,
  stage3_max_reuse_distance: 1e9,
  stage3_gather_16bit_weights_on_model_save: true,
  sub_group_size: 1e9,
}
const toHost = { device: 'cpu', pin_memory: true }

/** DeepSpeed's sharding modes, in the format of its config files. */
export const deepspeedStages = {
  zero2: {
    ...everyStage,
    zero_optimization: { stage: 2, ...shared, allgather_partitions: true, reduce_scatter: true },
  },
  zero3: { ...everyStage, zero_optimization: { stage: 3, ...shared, ...gathered } },
  'zero3-offload': {
    ...everyStage,
    zero_optimization: { stage: 3, ...shared, ...gathered, offload_optimizer: toHost, offload_param: toHost },
  },
} as const
