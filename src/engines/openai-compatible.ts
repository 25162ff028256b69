import { z } from 'zod'
import { definePlugin } from '../core/plugin.ts'
import { openaiChat } from '../formats/openai-chat.ts'
import { findApiKey } from './shared/client/api-key.ts'
import { makeEngine } from './shared/client/make-engine.ts'
import { address, serverOptions } from './shared/client/options.ts'

/** One or more addresses: a list, or separated by commas. */
const addresses = z
  .union([z.string(), z.array(z.string())])
  .transform((given) => [given].flat().flatMap((text) => text.split(',').map((each) => each.trim())))
  .pipe(z.tuple([address], address))

function metricsAt(apiBase: string): string {
  return `${apiBase.replace(/\/+$/, '').replace(/\/v\d+$/, '')}/metrics`
}

/**
 * Any server that speaks OpenAI's chat completions: vLLM, SGLang, llama.cpp and others. Its health is checked before
 * calls.
 */
export default definePlugin({
  name: 'openai-compatible',
  summary: 'a server that speaks OpenAI’s dialect: vLLM, SGLang, llama.cpp, ...',
  options: z.strictObject({
    ...serverOptions,
    api_base: addresses.describe(
      'address of the API, for example http://localhost:8000/v1; with several, the calls are spread over them',
    ),
    metrics_endpoint: z.url().optional().describe('where the server exposes its metrics, if not at /metrics'),
  }),
  make: ({ metrics_endpoint, api_base: apiBases, ...options }, context) =>
    makeEngine(
      {
        name: 'openai-compatible',
        dialect: openaiChat({ reasoningField: 'reasoning_content' }),
        apiBases,
        apiKey: findApiKey('openai-compatible', options, context.env, []),
        ownPrefixes: ['hosted_vllm/', 'openai-compatible/'],
        maxTokensField: 'max_tokens',
        healthcheckIntervalSec: 300,
        metricsUrls: metrics_endpoint === undefined ? apiBases.map(metricsAt) : [metrics_endpoint],
      },
      options,
      context,
    ),
})
