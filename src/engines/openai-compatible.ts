import { z } from 'zod'
import { definePlugin } from '../core/plugin.ts'
import { openaiChat } from '../formats/openai-chat.ts'
import { findApiKey } from './client/api-key.ts'
import { makeEngine } from './client/make-engine.ts'
import { serverOptions } from './client/options.ts'

/** Any server that speaks OpenAI's chat completions: vLLM, SGLang, llama.cpp and others. It is looked at before calls. */
export default definePlugin({
  name: 'openai-compatible',
  summary: 'a server that speaks OpenAI’s dialect: vLLM, SGLang, llama.cpp, ...',
  options: z.strictObject({
    ...serverOptions,
    api_base: serverOptions.api_base.unwrap(),
    metrics_endpoint: z.url().optional().describe('where the server shows its metrics, if not at /metrics'),
  }),
  make: ({ metrics_endpoint, ...options }, context) =>
    makeEngine(
      {
        name: 'openai-compatible',
        dialect: openaiChat({ reasoningField: 'reasoning_content' }),
        apiBase: options.api_base,
        apiKey: findApiKey('openai-compatible', options, context.env, []),
        ownPrefixes: ['hosted_vllm/', 'openai-compatible/'],
        maxTokensField: 'max_tokens',
        healthcheckIntervalSec: 300,
        metricsUrl: metrics_endpoint ?? `${options.api_base.replace(/\/+$/, '').replace(/\/v\d+$/, '')}/metrics`,
      },
      options,
      context,
    ),
})
