const common = {
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

/** DeepSpeed's ways to share a model, as its own files say them. */
export const deepspeedStages = {
  zero2: { ...common, zero_optimization: { stage: 2, ...shared, allgather_partitions: true, reduce_scatter: true } },
  zero3: { ...common, zero_optimization: { stage: 3, ...shared, ...gathered } },
  'zero3-offload': {
    ...common,
    zero_optimization: { stage: 3, ...shared, ...gathered, offload_optimizer: toHost, offload_param: toHost },
  },
} as const
