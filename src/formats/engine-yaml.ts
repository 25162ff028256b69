import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { UserError } from '../core/errors.ts'
import { readDocument } from './harbor-job/read-document.ts'
import { orUserError } from './harbor-task/read.ts'
import { parseStrict } from './strict-config.ts'

const whole = z.number().int()
const count = whole.positive()
const text = z.string()
const mapping = z.record(z.string(), z.unknown())

const keys = { api_key: text.nullish(), api_key_env: text.nullish() }

const engine = z.strictObject({
  type: z.enum([
    'openai',
    'anthropic',
    'vllm_local',
    'gemini_openai',
    'google_gemini',
    'none',
    'openai-compatible',
    'gemini',
    'vertex',
    'llama',
    'scripted',
  ]),
  model: text.nullish(),
  max_output_tokens: count.nullish(),
  healthcheck_interval: z.number().nonnegative().nullish(),
  request_params: mapping.nullish(),
  openai: z.strictObject({ ...keys, organization: text.nullish(), project: text.nullish() }).nullish(),
  anthropic: z.strictObject(keys).nullish(),
  vllm_local: z
    .strictObject({
      ...keys,
      endpoint_json: text.nullish(),
      base_url: text.nullish(),
      model_name: text.nullish(),
      healthcheck_interval: z.number().nonnegative().nullish(),
    })
    .nullish(),
  extra_args: mapping.nullish(),
})

const parallel = {
  tensor_parallel_size: count.default(1),
  pipeline_parallel_size: count.default(1),
  data_parallel_size: count.default(1),
}

const backend = z.strictObject({
  type: z.enum(['vllm', 'ray', 'none', 'vllm_local']).default('vllm'),
  wait_for_endpoint: z.boolean().default(false),
  endpoint_json_path: text.nullish(),
  ray_port: whole.min(0).max(65535).default(6379),
  api_port: whole.min(0).max(65535).default(8000),
  ...parallel,
  ray_cgraph_submit_timeout: z.number().nullish(),
  ray_cgraph_get_timeout: z.number().nullish(),
  ray_cgraph_max_inflight_executions: whole.nullish(),
  healthcheck_max_attempts: count.nullish(),
  healthcheck_retry_delay: z.number().nonnegative().nullish(),
})

/** YAML 1.1 parses an unquoted `48:00:00` as a number of seconds. */
const duration = z
  .union([text, z.number().nonnegative()])
  .transform((value) => (typeof value === 'string' ? value : clock(value)))

function clock(sec: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  return `${two(sec / 3600)}:${two((sec / 60) % 60)}:${two(sec % 60)}`
}

const vllmServer = z.strictObject({
  /** Another program that serves the same API, with its arguments; `--host` and `--port` are appended. */
  command: z.array(text).nullish(),
  model_path: text.nullish(),
  num_replicas: count.default(1),
  ...parallel,
  custom_model_name: text.nullish(),
  endpoint_json_path: text.nullish(),
  time_limit: duration.default('48:00:00'),
  hf_overrides: z.union([text, mapping]).nullish(),
  use_deep_gemm: z.boolean().nullish(),
  max_num_seqs: count.nullish(),
  gpu_memory_utilization: z.number().positive().max(1).nullish(),
  enable_expert_parallel: z.boolean().nullish(),
  swap_space: z.number().nonnegative().nullish(),
  max_seq_len_to_capture: count.nullish(),
  max_model_len: count.nullish(),
  cpu_offload_gb: z.number().nonnegative().nullish(),
  kv_offloading_size: z.number().nonnegative().nullish(),
  kv_offloading_backend: text.nullish(),
  trust_remote_code: z.boolean().nullish(),
  disable_log_requests: z.boolean().nullish(),
  enable_auto_tool_choice: z.boolean().nullish(),
  tool_call_parser: text.nullish(),
  reasoning_parser: text.nullish(),
  logging_level: text.nullish(),
  /** A program that makes the server reachable from outside; `{port}` in its arguments is the server's port. */
  tunnel: z
    .strictObject({
      command: z.array(text.min(1)).nonempty(),
      /** Its public address, without /v1. */
      url: z.url({ protocol: /^https?$/ }),
      check_sec: z.number().positive().default(60),
    })
    .nullish(),
  extra_args: z.union([text, z.array(z.union([text, z.number()])), mapping]).nullish(),
})

/** What determines a model's memory use; only for the named model. */
const modelFacts = z.strictObject({
  model: text,
  parameters_b: z.number().positive(),
  /** Bits per parameter on the GPU, including scales of quantized weights. */
  weight_bits: z.number().positive(),
  /** Per token, over all layers. */
  kv_bytes_per_token: z.number().positive().optional(),
  /** Left out if the cache has no heads to split (MLA). */
  kv_heads: count.optional(),
})

/** Server settings for a number of GPUs with at least this much memory; they override the file's own. */
const gpuProfile = z.strictObject({ gpus: count, memory_gb: z.number().positive(), vllm_server: mapping })

/** An engine file's settings: what answers, which server to start, and what agents get. */
const engineFileSchema = z.strictObject({
  engine,
  backend: backend.nullish(),
  vllm_server: vllmServer.nullish(),
  model_facts: modelFacts.nullish(),
  gpu_profiles: z.array(gpuProfile).nullish(),
  extra_agent_kwargs: mapping.nullish(),
  chunk_array_max: count.nullish(),
})

/** In the file's own spelling, with defaults filled in. */
export type EngineFile = z.output<typeof engineFileSchema>
export type VllmServerSettings = NonNullable<EngineFile['vllm_server']>

/**
 * Which engine to make and with which options; if an endpoint file is named, it has the address and must be read first.
 */
export interface EngineChoice {
  readonly name: string
  /** Options of the engine's plug-in. */
  readonly options: Readonly<Record<string, unknown>>
  readonly endpointJson: string | null
}

export async function loadEngineFile(path: string): Promise<EngineFile> {
  return parseEngineFile(await orUserError(path, () => readFile(path, 'utf8')), path)
}

/** The same with changes to the file's content, which are validated along with it. */
export async function readEngineFile(
  path: string,
  change: (document: Record<string, unknown>) => void,
): Promise<EngineFile> {
  const text = await orUserError(path, () => readFile(path, 'utf8'))
  const document = structuredClone(readDocument(text, path, formatOf(path)))
  // Anything but an object is refused below.
  if (typeof document === 'object' && document !== null) change(document as Record<string, unknown>)
  return checkEngineFile(document, path)
}

export function parseEngineFile(text: string, path: string): EngineFile {
  return checkEngineFile(readDocument(text, path, formatOf(path)), path)
}

function formatOf(path: string): 'json' | 'yaml' {
  return /\.json$/i.test(path) ? 'json' : 'yaml'
}

/** Validates an engine file; `path` is for messages. */
export function checkEngineFile(document: unknown, path: string): EngineFile {
  const file = parseStrict(engineFileSchema, document, path, `correct it in ${path}`)
  const { type, vllm_local: local } = file.engine
  const endpointJson = endpointJsonOf(file)
  if (type === 'vllm_local' && endpointJson === null && !(local?.base_url && (local.model_name ?? file.engine.model))) {
    throw new UserError(
      `${path}: engine.vllm_local: expected endpoint_json, or base_url and model_name, got neither`,
      'for example base_url: http://localhost:8000/v1 and the name the server lists',
    )
  }
  return file
}

/** Translates a file into the name and options of one of our engines. */
export function chooseEngine(file: EngineFile): EngineChoice {
  const { engine, backend } = file
  const name = engineNames[engine.type] ?? engine.type
  if (name === 'none') return { name, options: {}, endpointJson: null }
  const own =
    engine.type === 'openai' ? engine.openai : engine.type === 'anthropic' ? engine.anthropic : engine.vllm_local
  const options = {
    model: engine.vllm_local?.model_name ?? engine.model,
    api_key: own?.api_key,
    api_key_env: own?.api_key_env,
    api_base: engine.type === 'vllm_local' ? engine.vllm_local?.base_url : undefined,
    healthcheck_interval: engine.vllm_local?.healthcheck_interval ?? engine.healthcheck_interval,
    healthcheck_max_attempts: backend?.healthcheck_max_attempts,
    healthcheck_retry_delay: backend?.healthcheck_retry_delay,
    request_params: {
      ...(engine.max_output_tokens && { max_tokens: engine.max_output_tokens }),
      ...engine.request_params,
    },
    headers: engine.type === 'openai' ? organisation(engine.openai) : undefined,
    ...engine.extra_args,
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined && value !== null && !isEmpty(value))
  return { name, options: Object.fromEntries(given), endpointJson: endpointJsonOf(file) }
}

const engineNames: Readonly<Record<string, string>> = {
  vllm_local: 'openai-compatible',
  gemini_openai: 'gemini',
  google_gemini: 'gemini',
}

/** The engine's own setting first, then what the backend or server writes. */
function endpointJsonOf({ engine, backend, vllm_server: server }: EngineFile): string | null {
  if (engine.type !== 'vllm_local') return null
  return engine.vllm_local?.endpoint_json ?? backend?.endpoint_json_path ?? server?.endpoint_json_path ?? null
}

function organisation(openai: EngineFile['engine']['openai']): Record<string, string> {
  return {
    ...(openai?.organization && { 'openai-organization': openai.organization }),
    ...(openai?.project && { 'openai-project': openai.project }),
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
