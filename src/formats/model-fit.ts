import { UserError } from '../core/errors.ts'
import type { EngineFile, VllmServerSettings } from './engine-yaml.ts'

type Facts = NonNullable<EngineFile['model_facts']>

/** The GPUs available to a server. */
export interface Gpus {
  /** Per GPU in GiB, using the maker's number: an `H100 80GB` has 80. */
  readonly memoryGib: number
  readonly perNode: number
  readonly nodes: number
}

/** What each GPU needs besides weights and cache: the CUDA context, activations, captured graphs. */
const overheadGib = 2
/** vLLM's own default. */
const usualShare = 0.9

/** The memory of a GPU type; null if its name does not say. */
export function gpuMemoryOf(type: string | undefined): number | null {
  const gib = /(\d+)\s*GB\b/i.exec(type ?? '')?.[1]
  return gib === undefined ? null : Number(gib)
}

/** Refuses a model whose weights, plus the cache for one full context, exceed the GPUs of a replica. */
export function refuseMisfit(file: EngineFile, gpus: Gpus): void {
  const { vllm_server: server } = file
  const model = server?.model_path ?? file.engine.model
  // A program other than vLLM may keep weights elsewhere.
  if (!server || !model || server.command) return
  const facts = factsOf(file, model)
  if (!facts) return
  const need = needOf(facts, server)
  const usable = gpus.memoryGib * (server.gpu_memory_utilization ?? usualShare) + (server.cpu_offload_gb ?? 0)
  if (need.weights + need.cache + overheadGib <= usable) return
  const { tensor_parallel_size: tensor, pipeline_parallel_size: pipeline } = server
  const count = tensor * pipeline
  const cache = facts.kv_bytes_per_token
    ? `, the cache of ${server.max_model_len ?? 'one'} tokens ${shown(need.cache)}`
    : ''
  throw new UserError(
    `${model} does not fit on ${count} GPU${count === 1 ? '' : 's'} of ${gpus.memoryGib} GiB: ${facts.parameters_b} billion parameters of ${facts.weight_bits} bits are ${shown(need.weights * need.shares)}; on each GPU they take ${shown(need.weights)}${cache}, the rest ${shown(overheadGib)}, and ${shown(usable)} is available`,
    `${cureOf(facts, server, usable)}, or use weights with fewer bits`,
  )
}

/** Per GPU, in GiB. */
function needOf(
  facts: Pick<Facts, 'parameters_b' | 'weight_bits' | 'kv_bytes_per_token' | 'kv_heads'>,
  server: VllmServerSettings,
) {
  const { tensor_parallel_size: tensor, pipeline_parallel_size: pipeline, data_parallel_size: data } = server
  // With expert parallelism, the copies of a data-parallel server share the experts, which are nearly all of the
  // weights.
  const shares = tensor * pipeline * (server.enable_expert_parallel ? data : 1)
  const weights = (facts.parameters_b * 1e9 * facts.weight_bits) / 8 / 2 ** 30 / shares
  // A cache head is on at least one GPU; a cache without heads (MLA) is on each.
  const split = Math.min(tensor, facts.kv_heads ?? 1) * pipeline
  const cache = ((facts.kv_bytes_per_token ?? 0) * (server.max_model_len ?? 0)) / split / 2 ** 30
  return { weights, cache, shares }
}

/** The smallest setup that works, using tensor parallelism only. */
function cureOf(facts: Parameters<typeof needOf>[0], server: VllmServerSettings, usable: number): string {
  for (let tensor = server.tensor_parallel_size * 2; tensor <= 64; tensor *= 2) {
    const { weights, cache } = needOf(facts, { ...server, tensor_parallel_size: tensor })
    if (weights + cache + overheadGib <= usable) return `set vllm_server.tensor_parallel_size=${tensor}`
  }
  return server.max_model_len ? 'set a smaller vllm_server.max_model_len' : 'use larger GPUs'
}

/** The file's facts about its model; for another model, facts from its name: `-32B`, `-AWQ`, `-FP8`. */
function factsOf({ model_facts: facts }: EngineFile, model: string): Omit<Facts, 'model'> | null {
  if (facts?.model === model) return facts
  const name = model.split('/').at(-1) ?? model
  const size = /(?:^|[^A-Za-z\d.])(\d+(?:\.\d+)?)B(?![A-Za-z\d])/.exec(name)?.[1]
  if (size === undefined) return null
  const bits = /awq|gptq|int4|w4a16|fp4/i.test(name) ? 4 : /fp8|int8|w8a8/i.test(name) ? 8 : 16
  return { parameters_b: Number(size), weight_bits: bits, kv_bytes_per_token: undefined, kv_heads: undefined }
}

/** A file's settings for these GPUs: its first profile that they satisfy, preferring one node over several. */
export function profileFor(file: EngineFile, gpus: Gpus): Readonly<Record<string, unknown>> | null {
  const profiles = file.gpu_profiles ?? []
  if (profiles.length === 0) return null
  const enough = profiles.filter(({ memory_gb: memory }) => memory <= gpus.memoryGib)
  const chosen =
    enough.find(({ gpus: count }) => count <= gpus.perNode) ??
    enough.find(({ gpus: count }) => count % gpus.perNode === 0 && count / gpus.perNode <= gpus.nodes)
  if (chosen) return chosen.vllm_server
  const known = profiles.map((each) => `${each.gpus} x ${each.memory_gb} GiB`).join(', ')
  throw new UserError(
    `${file.vllm_server?.model_path ?? 'the model'} has settings for ${known}, but none for ${gpus.nodes} node${gpus.nodes === 1 ? '' : 's'} with ${gpus.perNode} GPUs of ${gpus.memoryGib} GiB`,
    'choose another cluster or a smaller model, or write an engine file with a profile for these GPUs',
  )
}

function shown(gib: number): string {
  return `${gib >= 100 ? Math.round(gib) : Math.round(gib * 10) / 10} GiB`
}
