import { z } from 'zod'
import { definePlugin } from '../core/plugin.ts'
import { openaiChat } from '../formats/openai-chat.ts'
import { findApiKey } from './shared/client/api-key.ts'
import { makeEngine } from './shared/client/make-engine.ts'
import { serverOptions } from './shared/client/options.ts'

/** OpenAI's own API. */
export default definePlugin({
  name: 'openai',
  summary: 'OpenAI, with the key in OPENAI_API_KEY',
  options: z.strictObject(serverOptions),
  make: (options, context) =>
    makeEngine(
      {
        name: 'openai',
        dialect: openaiChat({ reasoningField: null }),
        apiBases: [options.api_base ?? 'https://api.openai.com/v1'],
        apiKey: findApiKey('openai', options, context.env, ['OPENAI_API_KEY']),
        ownPrefixes: ['openai/'],
        maxTokensField: 'max_completion_tokens',
        healthcheckIntervalSec: 0,
        metricsUrls: [],
      },
      options,
      context,
    ),
})
