import type { Topology } from './batch.ts'
import type { TrainingValues } from './training-values.ts'

/** The file `accelerate launch` reads, for the way the model is shared. */
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

/** What a preset says about FSDP, over what is usual. */
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
