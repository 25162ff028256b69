import { z } from 'zod'
import type { ModelFacts } from '../../../core/model.ts'

const price = z.number().nonnegative()
const tokens = z.number().int().positive()

/** What a user knows about a model; the names are LiteLLM's, so that settings can be reused. */
const modelInfo = z.strictObject({
  max_input_tokens: tokens.optional(),
  max_output_tokens: tokens.optional(),
  max_tokens: tokens.optional().describe('used as the context length when max_input_tokens is not set'),
  input_cost_per_token: price.optional(),
  output_cost_per_token: price.optional(),
  cache_read_input_token_cost: price.optional(),
  cache_creation_input_token_cost: price.optional(),
})

/** A server's address. It must not hold a secret, which would be written down with it and never sent. */
export const address = z
  .url({ protocol: /^https?$/ })
  .refine(
    (text) => isPlain(text),
    'expected an address without user name, password or query; set the key with api_key_env',
  )

function isPlain(text: string): boolean {
  if (!URL.canParse(text)) return true
  const { username, password, search, hash } = new URL(text)
  return username + password + search + hash === ''
}

/** Options of every engine with a server. */
export const serverOptions = {
  model: z.string().min(1).optional().describe('model to look for when checking the server'),
  api_base: address.optional().describe('address of the API, for example http://localhost:8000/v1'),
  api_key: z.string().optional().describe('the API key, or a template with the environment variable that has it'),
  api_key_env: z.string().min(1).optional().describe('environment variable with the API key'),
  model_info: modelInfo.optional(),
  request_params: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('defaults sent with every request; {"max_tokens": 4000} ends the replies of a model that repeats itself'),
  headers: z.record(z.string(), z.string()).default({}),
  stream: z.boolean().default(false).describe('stream replies even when the caller needs only the whole reply'),
  request_timeout_sec: z
    .number()
    .positive()
    .default(1800)
    .describe('time limit of a request, from sending it to its last byte'),
  max_attempts: z.number().int().positive().default(6).describe('maximum attempts for one call when the server fails'),
  min_wait_sec: z
    .number()
    .nonnegative()
    .default(1)
    .describe('maximum wait after the first failure; doubles with each further one'),
  max_wait_sec: z.number().nonnegative().default(60),
  rpm: z.number().positive().optional().describe('maximum requests per minute'),
  tpm: z.number().positive().optional().describe('maximum tokens per minute, input and output together'),
  cache: z
    .strictObject({ dir: z.string().min(1).optional(), ttl_sec: z.number().positive().optional() })
    .optional()
    .describe('cache replies on disk and reuse them for identical requests'),
  healthcheck_interval: z
    .number()
    .nonnegative()
    .optional()
    .describe('seconds after which a call checks the server again; 0: never'),
  healthcheck_max_attempts: z.number().int().positive().default(3),
  healthcheck_retry_delay: z.number().nonnegative().default(2),
}

const schema = z.strictObject(serverOptions)
export type ServerOptions = z.output<typeof schema>

/** The user's information about a model, as facts. */
export function factsOf(info: ServerOptions['model_info']): ModelFacts {
  return {
    contextTokens: info?.max_input_tokens ?? info?.max_tokens ?? null,
    outputTokens: info?.max_output_tokens ?? null,
    inputUsdPerToken: info?.input_cost_per_token ?? null,
    cacheUsdPerToken: info?.cache_read_input_token_cost ?? null,
    outputUsdPerToken: info?.output_cost_per_token ?? null,
    cacheWriteUsdPerToken: info?.cache_creation_input_token_cost ?? null,
  }
}
