import facts from './published.json' with { type: 'json' }

/** What a value of a key may be: a list is the words it may be; `any` is left to the trainer. */
export type KeyKind = 'int' | 'float' | 'bool' | 'text' | 'any' | readonly string[]

/** A part of a message's frame: text in which `{{content}}` stands for the message, a token, or a special token of the model. */
export type Slot = string | { readonly token: string } | { readonly special: string }

/** How LLaMA-Factory writes a conversation: it has templates of its own and does not use the model's. */
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
  /** Taken for the end of a turn in place of the model's own token. */
  readonly eos: string | null
}

interface PublishedFacts {
  readonly llamafactory: string
  readonly transformers: string
  readonly keys: Readonly<Record<string, KeyKind>>
  readonly templates: Readonly<Record<string, ChatTemplate>>
}

/** What the published LLaMA-Factory knows, as test/interop/llamafactory/facts.py read it from an installation. */
const published = facts as unknown as PublishedFacts

/** The versions these facts are from. */
export const publishedVersions = { llamafactory: published.llamafactory, transformers: published.transformers }

/** Every key a training file may hold. */
export const trainingKeys: Readonly<Record<string, KeyKind>> = published.keys

/** Every chat template, by name. */
export const chatTemplates: Readonly<Record<string, ChatTemplate>> = published.templates

/** Keys of mcore_adapter, which LLaMA-Factory reads only when it trains with Megatron. */
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
