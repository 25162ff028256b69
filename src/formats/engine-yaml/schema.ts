import { z } from 'zod'

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

/** YAML 1.1 reads an unquoted `48:00:00` as a number of seconds. */
const duration = z
  .union([text, z.number().nonnegative()])
  .transform((value) => (typeof value === 'string' ? value : clock(value)))

function clock(sec: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  return `${two(sec / 3600)}:${two((sec / 60) % 60)}:${two(sec % 60)}`
}

const vllmServer = z.strictObject({
  /** Another program that serves the same API, with its arguments; `--host` and `--port` are added. */
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
  extra_args: z.union([text, z.array(z.union([text, z.number()])), mapping]).nullish(),
})

/** An engine's settings as they stand in a file: what answers, what is started for it, and what agents get. */
export const engineFileSchema = z.strictObject({
  engine,
  backend: backend.nullish(),
  vllm_server: vllmServer.nullish(),
  extra_agent_kwargs: mapping.nullish(),
  chunk_array_max: count.nullish(),
})

/** The file's own spelling, defaults filled in. */
export type EngineFile = z.output<typeof engineFileSchema>
export type VllmServerSettings = NonNullable<EngineFile['vllm_server']>
