import { z } from 'zod'
import type { ChatMessage, ModelRequest, ToolDefinition } from '../../core/model.ts'
import { makeStream, renderReply } from './openai-chat-reply.ts'
import { openaiFault } from './openai-fault.ts'
import {
  contentSchema,
  count,
  given,
  jsonText,
  mapping,
  number,
  parsedBy,
  Refused,
  read,
  stopSchema,
  textOf,
} from './read-request.ts'
import { type CallAddress, comment, dataEvent, type ServedCall, type ServerDialect } from './server-dialect.ts'

/** The server side of OpenAI's chat completions; token details use vLLM's names. */
export const openaiChatServer: ServerDialect = {
  name: 'openai-chat',
  parse: (document, address) => parsedBy(() => parseChat(document, address)),
  render: renderReply,
  makeStream,
  streamsThoughts: true,
  renderFault: openaiFault,
  faultEvent: (fault) => dataEvent(openaiFault(fault)),
  heartbeat: comment,
}

const callSchema = z.object({
  id: z.string().nullish(),
  function: z.object({ name: z.string(), arguments: z.unknown().optional() }).nullish(),
  custom: z.object({ name: z.string(), input: z.string() }).nullish(),
})

const messageSchema = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: contentSchema,
  refusal: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish().catch(null),
  tool_calls: z.array(callSchema).nullish(),
  tool_call_id: z.string().nullish(),
})

const toolSchema = z.object({
  type: z.string(),
  function: z.object({ name: z.string(), description: z.string().nullish(), parameters: mapping.nullish() }).nullish(),
  custom: z.object({ name: z.string(), description: z.string().nullish() }).nullish(),
})

const bodySchema = z.looseObject({
  model: z.string(),
  messages: z.array(messageSchema).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  temperature: number,
  top_p: number,
  max_tokens: count,
  max_completion_tokens: count,
  stop: stopSchema,
  reasoning_effort: z.string().nullish(),
  tools: z.array(toolSchema).nullish(),
  tool_choice: z.union([z.enum(['auto', 'none', 'required']), z.looseObject({ type: z.string() })]).nullish(),
  response_format: z.looseObject({ type: z.string() }).nullish(),
  logprobs: z.boolean().nullish(),
  return_token_ids: z.boolean().nullish(),
  session_id: z.string().nullish(),
  n: z.number().nullish(),
})
type Body = z.output<typeof bodySchema>

/** Fields about the caller's account or server, not about the reply. */
const beside = [
  'store',
  'metadata',
  'user',
  'service_tier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'top_logprobs',
]

function parseChat(document: unknown, { stream }: CallAddress): ServedCall {
  const body = read(bodySchema, document)
  if ((body.n ?? 1) !== 1) throw new Refused(`n: expected 1, got ${body.n}; one reply is given to each request`, 'n')
  if (document && Object.hasOwn(document, 'functions'))
    throw new Refused('functions: expected tools instead', 'functions')
  const rest = Object.entries(body).filter(([key, value]) => !Object.hasOwn(bodySchema.shape, key) && value !== null)
  const extra = Object.fromEntries(rest.filter(([key]) => !beside.includes(key)))
  const format = body.response_format
  if (format && format.type !== 'json_schema' && format.type !== 'text') extra.response_format = format
  const tools = body.tools?.map(readTool)
  const request: ModelRequest = {
    messages: body.messages.map(readMessage),
    ...given({
      temperature: body.temperature,
      topP: body.top_p,
      maxOutputTokens: body.max_completion_tokens ?? body.max_tokens,
      stop: body.stop,
      reasoningEffort: body.reasoning_effort,
      tools,
      toolChoice: readChoice(body.tool_choice),
      jsonSchema: readJsonSchema(format),
      tokenDetails: body.logprobs || body.return_token_ids ? true : null,
      extraBody: Object.keys(extra).length > 0 ? extra : null,
      sessionId: body.session_id,
    }),
  }
  return {
    model: body.model,
    stream: stream || (body.stream ?? false),
    request,
    ignored: rest.map(([key]) => key).filter((key) => beside.includes(key)),
    shape: {
      streamUsage: body.stream_options?.include_usage ?? false,
      textTools: (body.tools ?? []).flatMap(({ custom }) => custom?.name ?? []),
    },
  }
}

function readMessage(message: Body['messages'][number], i: number): ChatMessage {
  const { role, tool_calls: calls, tool_call_id: toolCallId } = message
  const content = textOf(message.content, `messages.${i}.content`) + (message.refusal ?? '')
  if (role === 'tool') return { role, content, toolCallId: toolCallId ?? '' }
  const reasoning = message.reasoning_content ?? message.reasoning
  return {
    role: role === 'developer' ? 'system' : role,
    content,
    ...(role === 'assistant' && given({ reasoning, toolCalls: calls?.length ? calls.map(readCall) : null })),
  }
}

function readCall({ id, function: call, custom }: z.output<typeof callSchema>, i: number) {
  if (custom) return { id: id ?? `call_${i}`, name: custom.name, arguments: JSON.stringify({ input: custom.input }) }
  if (!call) throw new Refused('tool_calls: expected the call of a function', 'messages')
  return { id: id ?? `call_${i}`, name: call.name, arguments: jsonText(call.arguments) }
}

function readTool({ type, function: tool, custom }: z.output<typeof toolSchema>): ToolDefinition {
  if (tool) return { name: tool.name, description: tool.description ?? '', parameters: tool.parameters ?? noParameters }
  if (custom) return { name: custom.name, description: custom.description ?? '', parameters: textParameters }
  throw new Refused(`tools: expected a function, got a tool of type ${type}`, 'tools')
}

const noParameters = { type: 'object', properties: {} }

/** How the model sees a tool that takes plain text. */
export const textParameters = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] }

function readChoice(choice: Body['tool_choice']): ModelRequest['toolChoice'] | null {
  if (!choice || typeof choice === 'string') return choice ?? null
  const named = z.object({ name: z.string() }).safeParse(choice.function ?? choice.custom ?? choice)
  if (named.success) return { name: named.data.name }
  throw new Refused('tool_choice: expected auto, none, required or the name of a function', 'tool_choice')
}

const jsonSchemaSchema = z.object({ json_schema: z.object({ name: z.string(), schema: mapping }) })

function readJsonSchema(format: Body['response_format']): ModelRequest['jsonSchema'] | null {
  if (format?.type !== 'json_schema') return null
  const { name, schema } = read(jsonSchemaSchema, format).json_schema
  return { name, schema }
}
