import { z } from 'zod'
import type { ModelRequest } from '../core/model.ts'
import { makeBlocks } from './anthropic-messages/blocks.ts'
import { renderMessages, systemText } from './anthropic-messages/messages.ts'
import {
  type Dialect,
  type Hear,
  type Parsed,
  parseEvent,
  type RenderHow,
  type ServedModel,
  type StreamReader,
  trimBase,
} from './model-dialect.ts'
import { type Fault, faultIn } from './model-fault.ts'

/** Anthropic's messages API. */
export const anthropicMessages: Dialect = {
  name: 'anthropic-messages',
  base: (url) => trimBase(url, '/v1/messages', '/v1'),
  headers: (apiKey) => ({ 'anthropic-version': '2023-06-01', ...(apiKey !== null && { 'x-api-key': apiKey }) }),
  path: () => '/v1/messages',
  render: renderRequest,
  parse: parseReply,
  makeStream,
  modelsPath: '/v1/models?limit=1000',
  modelPath: (model) => `/v1/models/${encodeURIComponent(model)}`,
  parseModels,
}

function renderRequest(model: string, request: ModelRequest, how: RenderHow): Record<string, unknown> {
  const { jsonSchema, tools = [] } = request
  const maxTokens = request.maxOutputTokens ?? how.defaultOutputTokens
  // A structured answer is requested through a tool call, which no version of the API allows together with thinking.
  const thinkingTokens = jsonSchema ? 0 : thinkingBudget(request.reasoningEffort, maxTokens)
  const system = systemText(request.messages)
  const body: Record<string, unknown> = {
    model,
    max_tokens: maxTokens,
    ...(system !== '' && { system }),
    messages: renderMessages(request.messages),
    ...(thinkingTokens > 0
      ? { thinking: { type: 'enabled', budget_tokens: thinkingTokens } }
      : { temperature: request.temperature, top_p: request.topP }),
    stop_sequences: request.stop,
    ...((tools.length > 0 || jsonSchema) && {
      tools: [
        ...tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
        ...(jsonSchema ? [{ name: jsonSchema.name, input_schema: jsonSchema.schema }] : []),
      ],
      tool_choice: toolChoice(request),
    }),
    ...request.extraBody,
    ...(how.stream && { stream: true }),
  }
  for (const name of how.quirks.dropped) delete body[name]
  return body
}

function toolChoice({ jsonSchema, toolChoice: choice = 'auto' }: ModelRequest): object {
  if (jsonSchema) return { type: 'tool', name: jsonSchema.name }
  if (typeof choice === 'object') return { type: 'tool', name: choice.name }
  return { type: choice === 'required' ? 'any' : choice }
}

/**
 * How many thinking tokens an effort level means; a number is used as is. At least 1024, and below the reply's limit.
 */
function thinkingBudget(effort: string | undefined, maxTokens: number): number {
  if (effort === undefined) return 0
  const wanted = Object.hasOwn(thinkingTokens, effort) ? (thinkingTokens[effort] ?? 0) : Number(effort) || 0
  return wanted === 0 || maxTokens <= 1024 ? 0 : Math.max(1024, Math.min(wanted, maxTokens - 1))
}

const thinkingTokens: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16384,
  xhigh: 32768,
  max: 65536,
}

const usageSchema = z.object({
  input_tokens: z.number().nullish(),
  output_tokens: z.number().nullish(),
  cache_read_input_tokens: z.number().nullish(),
  cache_creation_input_tokens: z.number().nullish(),
})

const messageSchema = z.object({
  content: z.array(z.looseObject({ type: z.string() })),
  stop_reason: z.string().nullish(),
  usage: usageSchema.nullish(),
})

function parseReply(document: unknown, request: ModelRequest): Parsed {
  const message = messageSchema.safeParse(document)
  if (!message.success) {
    const fault = faultIn(document, 200)
    return fault ? { kind: 'fault', fault } : { kind: 'malformed', message: 'expected a message with content blocks' }
  }
  const { content, stop_reason, usage } = message.data
  const blocks = makeBlocks(request, () => {})
  for (const [i, block] of content.entries()) blocks.start(i, block)
  return { kind: 'reply', reply: blocks.end(stop_reason ?? null, usage ?? null) }
}

const eventSchema = z.object({
  type: z.string(),
  index: z.number().nullish(),
  message: z.object({ usage: usageSchema.nullish() }).nullish(),
  content_block: z.looseObject({ type: z.string() }).nullish(),
  delta: z.looseObject({ stop_reason: z.string().nullish() }).nullish(),
  usage: usageSchema.nullish(),
})

function makeStream(request: ModelRequest, onText: Hear, onReasoning?: Hear): StreamReader {
  const blocks = makeBlocks(request, onText, onReasoning)
  let usage: z.output<typeof usageSchema> | null = null
  let stopReason: string | null = null
  let stopped = false
  let fault: Fault | null = null
  let malformed = false
  const take = (event: z.output<typeof eventSchema>) => {
    const { type, index, content_block: block, delta } = event
    const counted = event.usage ?? event.message?.usage
    // Later events repeat only some of the counts.
    if (counted) usage = { ...usage, ...counted }
    if (type === 'content_block_start' && block) blocks.start(index ?? 0, block)
    if (type === 'content_block_delta' && delta) blocks.add(index ?? 0, delta)
    if (type === 'message_delta' && delta?.stop_reason) stopReason = delta.stop_reason
    stopped ||= type === 'message_stop'
  }
  return {
    push(data) {
      const document = parseEvent(data)
      fault = faultIn(document, 200)
      const event = eventSchema.safeParse(document)
      malformed = !event.success
      if (event.success && !fault) take(event.data)
      return fault !== null || malformed || stopped
    },
    end() {
      if (fault) return { kind: 'fault', fault }
      if (malformed) return { kind: 'malformed', message: 'expected an event of a message, got something else' }
      return stopped || stopReason !== null ? { kind: 'reply', reply: blocks.end(stopReason, usage) } : { kind: 'cut' }
    },
  }
}

const modelSchema = z.object({
  id: z.string(),
  max_input_tokens: z.number().positive().nullish().catch(null),
  max_tokens: z.number().positive().nullish().catch(null),
})

function parseModels(document: unknown): readonly ServedModel[] | null {
  const found = z.union([z.object({ data: z.array(modelSchema) }), modelSchema]).safeParse(document)
  if (!found.success) return null
  const models = 'data' in found.data ? found.data.data : [found.data]
  return models.map(({ id, max_input_tokens, max_tokens }) => ({
    id,
    contextTokens: max_input_tokens ?? null,
    outputTokens: max_tokens ?? null,
  }))
}
