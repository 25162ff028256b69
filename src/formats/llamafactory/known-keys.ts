import facts from './published.json' with { type: 'json' }

/** The allowed values of a key: a list means one of its words; `any` is left to the trainer. */
export type KeyKind = 'int' | 'float' | 'bool' | 'text' | 'any' | readonly string[]

/**
 * A part of a message's template: text in which `{{content}}` stands for the message, a token, or a special token of
 * the model.
 */
export type Slot = string | { readonly token: string } | { readonly special: string }

/** LLaMA-Factory's template for a conversation: it has its own and does not use the model's. */
export interface ChatTemplate {
  readonly user: readonly Slot[]
  readonly assistant: readonly Slot[]
  readonly system: readonly Slot[]
  readonly function: readonly Slot[]
  readonly observation: readonly Slot[]
  readonly prefix: readonly Slot[]
  readonly toolFormat: string
  readonly defaultSystem: string
  readonly thoughtWords: readonly string[]
  readonly isReasoning: boolean
  readonly efficientEos: boolean
  /** Replaces the model's own end-of-turn token. */
  readonly eos: string | null
}

interface PublishedFacts {
  readonly llamafactory: string
  readonly transformers: string
  readonly keys: Readonly<Record<string, KeyKind>>
  readonly templates: Readonly<Record<string, ChatTemplate>>
}

/** Facts about the published LLaMA-Factory, extracted from an installation by test/interop/llamafactory/facts.py. */
const published = facts as unknown as PublishedFacts

/** The versions these facts are from. */
export const publishedVersions = { llamafactory: published.llamafactory, transformers: published.transformers }

/** Every key allowed in a training file. */
export const trainingKeys: Readonly<Record<string, KeyKind>> = published.keys

/** Every chat template, by name. */
export const chatTemplates: Readonly<Record<string, ChatTemplate>> = published.templates

/** Keys of mcore_adapter, which LLaMA-Factory only reads when training with Megatron. */
export const megatronKeys: Readonly<Record<string, KeyKind>> = {
  account_for_embedding_in_pipeline_split: 'bool',
  account_for_loss_in_pipeline_split: 'bool',
  apply_rope_fusion: 'bool',
  bias_activation_fusion: 'bool',
  calculate_per_token_loss: 'bool',
  context_parallel_size: 'int',
  cross_entropy_loss_fusion: 'bool',
  expert_model_parallel_size: 'int',
  masked_softmax_fusion: 'bool',
  moe_grouped_gemm: 'bool',
  moe_token_dispatcher_type: ['allgather', 'alltoall', 'flex'],
  overlap_grad_reduce: 'bool',
  overlap_param_gather: 'bool',
  pipeline_model_parallel_size: 'int',
  recompute_granularity: 'text',
  recompute_method: ['uniform', 'block'],
  recompute_num_layers: 'int',
  sequence_parallel: 'bool',
  tensor_model_parallel_size: 'int',
  use_distributed_optimizer: 'bool',
  virtual_pipeline_model_parallel_size: 'int',
}
