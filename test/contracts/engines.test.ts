import anthropic from '../../src/engines/anthropic.ts'
import gemini from '../../src/engines/gemini.ts'
import openai from '../../src/engines/openai.ts'
import compatible from '../../src/engines/openai-compatible.ts'
import vertex from '../../src/engines/vertex/index.ts'
import { chunksOf, cutsAfter, events, fails, json, says, usage } from '../fakes/model-server.ts'
import { engineLaws, type Voice } from './engine.ts'

const pieces = (text: string) => text.match(/[\s\S]{1,4}/g) ?? []

const openaiVoice: Voice = {
  says,
  breaksAfter: (text) => cutsAfter(...chunksOf(text).slice(0, 1)),
  isCutOff: (text) => says(text, {}, { finish_reason: 'length' }),
  isFiltered: says('', {}, { finish_reason: 'content_filter' }),
  callsTool: (name, args) =>
    json({
      choices: [
        {
          message: { content: null, tool_calls: [{ id: 'c', function: { name, arguments: JSON.stringify(args) } }] },
          finish_reason: 'tool_calls',
        },
      ],
      usage,
    }),
  fails,
  isTooLong: fails(400, "This model's maximum context length is 5 tokens."),
  lists: (...models) => json({ data: models.map((id) => ({ id })) }),
}

const counted = { input_tokens: 11, output_tokens: 3 }

const message = (content: object[], stop_reason = 'end_turn') =>
  json({ type: 'message', content, stop_reason, usage: counted })

const anthropicEvents = (text: string) => [
  { type: 'message_start', message: { usage: { input_tokens: 11, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ...pieces(text).map((piece) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: piece },
  })),
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
  { type: 'message_stop' },
]

const anthropicVoice: Voice = {
  says: (text) => (response, request) =>
    (request.body.stream ? events(...anthropicEvents(text)) : message([{ type: 'text', text }]))(response, request),
  breaksAfter: (text) => cutsAfter(...anthropicEvents(text).slice(0, 3)),
  isCutOff: (text) => message([{ type: 'text', text }], 'max_tokens'),
  isFiltered: message([], 'refusal'),
  callsTool: (name, args) => message([{ type: 'tool_use', id: 'c', name, input: args }], 'tool_use'),
  fails: (status, text) => json({ type: 'error', error: { type: 'api_error', message: text } }, status),
  isTooLong: json(
    { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 6 tokens > 5 maximum' } },
    400,
  ),
  lists: (...models) => json({ data: models.map((id) => ({ id })) }),
}

const usageMetadata = { promptTokenCount: 11, candidatesTokenCount: 3 }

const candidate = (parts: object[], finishReason?: string) => ({
  candidates: [{ content: { parts }, ...(finishReason && { finishReason }) }],
  usageMetadata,
})

const geminiVoice: Voice = {
  says: (text) => (response, request) =>
    (request.path.includes(':stream')
      ? events(...pieces(text).map((piece) => candidate([{ text: piece }])), candidate([], 'STOP'))
      : json(candidate([{ text }], 'STOP')))(response, request),
  breaksAfter: (text) => cutsAfter(candidate([{ text }])),
  isCutOff: (text) => json(candidate([{ text }], 'MAX_TOKENS')),
  isFiltered: json(candidate([], 'SAFETY')),
  callsTool: (name, args) => json(candidate([{ functionCall: { name, args } }], 'STOP')),
  fails: (status, text) => json({ error: { code: status, message: text } }, status),
  isTooLong: json(
    { error: { code: 400, message: 'The input token count (6) exceeds the maximum number of tokens allowed (5).' } },
    400,
  ),
  lists: (...models) => json({ models: models.map((name) => ({ name: `models/${name}` })) }),
}

const context = (variable: string, key: string) => ({ env: { [variable]: key }, stateDir: '/nonexistent' })

engineLaws('openai', {
  voice: openaiVoice,
  keyHeader: 'authorization',
  make: (origin, key, options) =>
    openai.make(openai.options.parse({ api_base: `${origin}/v1`, ...options }), context('OPENAI_API_KEY', key)),
})

engineLaws('openai-compatible', {
  voice: openaiVoice,
  keyHeader: 'authorization',
  make: (origin, key, options) =>
    compatible.make(
      compatible.options.parse({ api_base: `${origin}/v1/`, api_key_env: 'MY_KEY', ...options }),
      context('MY_KEY', key),
    ),
})

engineLaws('anthropic', {
  voice: anthropicVoice,
  keyHeader: 'x-api-key',
  make: (origin, key, options) =>
    anthropic.make(anthropic.options.parse({ api_base: origin, ...options }), context('ANTHROPIC_API_KEY', key)),
})

engineLaws('gemini', {
  voice: geminiVoice,
  keyHeader: 'x-goog-api-key',
  make: (origin, key, options) =>
    gemini.make(gemini.options.parse({ api_base: origin, ...options }), context('GEMINI_API_KEY', key)),
})

engineLaws('vertex', {
  voice: {
    ...geminiVoice,
    lists: (...models) =>
      json({ publisherModels: models.map((name) => ({ name: `publishers/google/models/${name}` })) }),
  },
  keyHeader: 'authorization',
  make: (origin, key, options) =>
    vertex.make(
      vertex.options.parse({ api_base: origin, project: 'p', ...options }),
      context('CLOUDSDK_AUTH_ACCESS_TOKEN', key),
    ),
})
