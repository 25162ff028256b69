import { availableParallelism } from 'node:os'
import { z } from 'zod'
import type { Engine } from '../../core/model.ts'
import { definePlugin } from '../../core/plugin.ts'
import type { ModelService } from '../../formats/dialect-server/model-service.ts'
import { serverOptions } from '../shared/client/options.ts'
import { makeInProcessEngine } from '../shared/in-process.ts'
import { findStudent } from './find-student.ts'
import { makeService } from './service.ts'

const { api_base: _, api_key: __, api_key_env: ___, headers: ____, ...ofClient } = serverOptions

const count = z.number().int().positive()

/** A small model that runs in this process, without a server or native code. */
export default definePlugin({
  name: 'llama',
  summary: 'a small student (GGUF, Qwen3) run in this process; no server, no GPU',
  options: z.strictObject({
    ...ofClient,
    model: z.string().min(1).describe('a GGUF file, or the name of a student of this package'),
    file: z.string().min(1).optional().describe('the GGUF file, when the model has another name'),
    threads: count
      .max(64)
      .default(() => Math.min(4, availableParallelism()))
      .describe('compute threads (default: one per core, at most 4)'),
    slots: count
      .max(256)
      .default(16)
      .describe('number of conversations in memory at the same time, kept for the next turn'),
    context_tokens: count
      .optional()
      .describe('maximum tokens of a conversation; longer ones are refused (default: the limit of the model)'),
    max_output_tokens: count.default(2048).describe('token limit of a reply when the request sets none'),
    seed: z.number().int().default(0).describe('seed for sampling: the same seed and conversation give the same reply'),
  }),
  make: (options, context): Engine & { readonly service: ModelService } => {
    const { file, threads, slots, context_tokens, max_output_tokens, seed, ...client } = options
    const model = options.model.replace(/^llama\/(?=.)/, '')
    const service = makeService({
      model,
      path: () => findStudent(file ?? model, context),
      threads,
      slots,
      contextTokens: context_tokens ?? null,
      maxOutputTokens: max_output_tokens,
      seed,
    })
    return makeInProcessEngine({ name: 'llama', service, reasoningField: null, options: client }, context)
  },
})
