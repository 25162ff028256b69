/** Dataset columns by flag, with LLaMA-Factory's names for them. */
export const columnFlags = {
  messages: 'messages',
  system: 'system',
  tools: 'tools',
  prompt_column: 'prompt',
  query_column: 'query',
  response_column: 'response',
  history_column: 'history',
} as const

/** A dataset's tags, as in dataset_info.json. */
export const tagFlags = [
  ...(['role_tag', 'content_tag', 'user_tag', 'assistant_tag'] as const),
  ...(['system_tag', 'observation_tag', 'function_tag'] as const),
] as const

/**
 * LLaMA-Factory arguments that have their own flag and go into the training file; all others go through
 * --train-extra-args.
 */
export const trainerFlags = [
  ...(['model_name_or_path', 'stage', 'do_train', 'finetuning_type', 'deepspeed', 'packing', 'neat_packing'] as const),
  ...([
    'enable_liger_kernel',
    'attn',
    'template',
    'cutoff_len',
    'overwrite_cache',
    'preprocessing_num_workers',
  ] as const),
  ...(['mix_strategy', 'interleave_probs', 'streaming', 'buffer_size', 'max_samples', 'val_size'] as const),
  ...([
    'eval_on_each_dataset',
    'disable_shuffling',
    'save_strategy',
    'output_dir',
    'logging_steps',
    'plot_loss',
  ] as const),
  ...(['overwrite_output_dir', 'per_device_train_batch_size', 'gradient_accumulation_steps'] as const),
  ...(['global_batch_size', 'gradient_checkpointing', 'learning_rate', 'adam_beta1', 'adam_beta2'] as const),
  ...(['num_train_epochs', 'lr_scheduler_type', 'warmup_ratio', 'weight_decay', 'bf16', 'ddp_timeout'] as const),
  ...(['report_to', 'run_name', 'seed', 'max_grad_norm', 'max_steps', 'use_cpu', 'use_unsloth_gc'] as const),
  ...(['eval_strategy', 'push_to_hub', 'hub_model_id', 'lora_rank', 'lora_alpha', 'lora_dropout'] as const),
] as const
