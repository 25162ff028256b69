import { z } from 'zod'
import { definePlugin } from '../core/plugin.ts'
import { geminiGenerate } from '../formats/gemini-generate.ts'
import { findApiKey } from './shared/client/api-key.ts'
import { makeEngine } from './shared/client/make-engine.ts'
import { serverOptions } from './shared/client/options.ts'

/** Google's Gemini API. */
export default definePlugin({
  name: 'gemini',
  summary: 'Google Gemini, with the key in GEMINI_API_KEY',
  options: z.strictObject(serverOptions),
  make: (options, context) =>
    makeEngine(
      {
        name: 'gemini',
        dialect: geminiGenerate,
        apiBases: [options.api_base ?? 'https://generativelanguage.googleapis.com'],
        apiKey: findApiKey('gemini', options, context.env, ['GEMINI_API_KEY', 'GOOGLE_API_KEY']),
        ownPrefixes: ['gemini/', 'google/', 'models/'],
        maxTokensField: 'max_tokens',
        healthcheckIntervalSec: 0,
        metricsUrls: [],
      },
      options,
      context,
    ),
})
