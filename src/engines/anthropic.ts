import { z } from 'zod'
import { definePlugin } from '../core/plugin.ts'
import { anthropicMessages } from '../formats/anthropic-messages.ts'
import { findApiKey } from './shared/client/api-key.ts'
import { makeEngine } from './shared/client/make-engine.ts'
import { serverOptions } from './shared/client/options.ts'

/** Anthropic's API. */
export default definePlugin({
  name: 'anthropic',
  summary: 'Anthropic, with the key in ANTHROPIC_API_KEY',
  options: z.strictObject(serverOptions),
  make: (options, context) =>
    makeEngine(
      {
        name: 'anthropic',
        dialect: anthropicMessages,
        apiBases: [options.api_base ?? 'https://api.anthropic.com'],
        apiKey: findApiKey('anthropic', options, context.env, ['ANTHROPIC_API_KEY']),
        ownPrefixes: ['anthropic/'],
        maxTokensField: 'max_tokens',
        healthcheckIntervalSec: 0,
        metricsUrls: [],
      },
      options,
      context,
    ),
})
