import { z } from 'zod'
import type { ChatMessage, ModelRequest, ToolCall, ToolDefinition } from '../../core/model.ts'
import { makeStream, renderReply } from './anthropic-messages-reply.ts'
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
  textOf,
} from './read-request.ts'
import {
  type CallAddress,
  type FaultKind,
  renderEvent,
  type ServedCall,
  type ServerDialect,
  type ServiceFault,
} from './server-dialect.ts'

/** The server side of Anthropic's messages API. */
export const anthropicMessagesServer: ServerDialect = {
  name: 'anthropic-messages',
  parse: (document, address) => parsedBy(() => parseMessages(document, address)),
  render: renderReply,
  makeStream,
  streamsThoughts: false,
  renderFault,
  faultEvent: (fault) => ({ name: 'error', data: JSON.stringify(renderFault(fault)) }),
  heartbeat: renderEvent({ name: 'ping', data: '{"type":"ping"}' }),
}

const blockSchema = z.looseObject({ type: z.string() })
type Block = z.output<typeof blockSchema>

const turnSchema = z.object({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), z.array(blockSchema)]),
})
type Turn = z.output<typeof turnSchema>

const toolSchema = z.object({
  name: z.string(),
  type: z.string().nullish(),
  description: z.string().nullish(),
  input_schema: mapping.nullish(),
})

const bodySchema = z.looseObject({
  model: z.string(),
  messages: z.array(turnSchema).min(1),
  system: contentSchema,
  max_tokens: count,
  stream: z.boolean().nullish(),
  temperature: number,
  top_p: number,
  top_k: number,
  stop_sequences: z.array(z.string()).nullish(),
  tools: z.array(toolSchema).nullish(),
  tool_choice: z.object({ type: z.string(), name: z.string().nullish() }).nullish(),
  thinking: z.looseObject({ type: z.string(), budget_tokens: count }).nullish(),
  output_config: z.object({ effort: z.string().nullish() }).nullish().catch(null),
})
type Body = z.output<typeof bodySchema>

function parseMessages(document: unknown, { stream }: CallAddress): ServedCall {
  const body = read(bodySchema, document)
  const system = textOf(body.system, 'system')
  const tools = (body.tools ?? []).filter(({ input_schema: shape }) => shape)
  const foreign = (body.tools ?? []).filter(({ input_schema: shape }) => !shape).map(({ type }) => `tool ${type}`)
  const request: ModelRequest = {
    messages: [...(system === '' ? [] : [{ role: 'system' as const, content: system }]), ...readTurns(body.messages)],
    ...given({
      temperature: body.temperature,
      topP: body.top_p,
      maxOutputTokens: body.max_tokens,
      stop: body.stop_sequences,
      reasoningEffort: effortOf(body),
      tools: tools.length > 0 ? tools.map(readTool) : null,
      toolChoice: readChoice(body.tool_choice),
      extraBody: body.top_k ? { top_k: body.top_k } : null,
    }),
  }
  const ignored = Object.keys(body).filter((key) => !Object.hasOwn(bodySchema.shape, key))
  return {
    model: body.model,
    stream: stream || (body.stream ?? false),
    request,
    ignored: [...ignored, ...foreign],
    shape: { streamUsage: true, textTools: [] },
  }
}

function readTool({ name, description, input_schema: shape }: z.output<typeof toolSchema>): ToolDefinition {
  return { name, description: description ?? '', parameters: shape ?? {} }
}

function readChoice(choice: Body['tool_choice']): ModelRequest['toolChoice'] | null {
  if (!choice) return null
  if (choice.type === 'tool') return choice.name ? { name: choice.name } : 'required'
  return choice.type === 'any' ? 'required' : choice.type === 'none' ? 'none' : 'auto'
}

/** A thinking budget stays a number; an adaptive model decides itself how much it thinks. */
function effortOf({ thinking, output_config: output }: Body): string | null {
  if (thinking?.type === 'disabled') return 'none'
  return output?.effort ?? (thinking?.budget_tokens ? String(thinking.budget_tokens) : null)
}

function renderFault({ kind, message }: ServiceFault): Record<string, unknown> {
  const known = kind === 'context-exceeded' && !/prompt is too long/i.test(message)
  return { type: 'error', error: { type: words[kind], message: known ? `prompt is too long: ${message}` : message } }
}

const words: Readonly<Record<FaultKind, string>> = {
  'invalid-request': 'invalid_request_error',
  'context-exceeded': 'invalid_request_error',
  auth: 'authentication_error',
  forbidden: 'permission_error',
  'not-found': 'not_found_error',
  'too-large': 'request_too_large',
  'rate-limit': 'rate_limit_error',
  server: 'api_error',
  overloaded: 'overloaded_error',
  timeout: 'timeout_error',
}

/** The conversation: tool results become separate messages, before any user text in the same turn. */
function readTurns(turns: readonly Turn[]): ChatMessage[] {
  return turns.flatMap((turn, i) => {
    const where = `messages.${i}`
    if (typeof turn.content === 'string') return [{ role: turn.role, content: turn.content }]
    return turn.role === 'assistant' ? [readSpoken(turn.content, where)] : readHeard(turn.role, turn.content, where)
  })
}

function readSpoken(blocks: readonly Block[], where: string): ChatMessage {
  const thoughts = blocks.filter(({ type }) => type === 'thinking' || type === 'redacted_thinking')
  const calls = blocks.filter(({ type }) => type === 'tool_use').map((block) => readCall(block, where))
  const words = blocks.filter((block) => !thoughts.includes(block) && block.type !== 'tool_use')
  const reasoning = thoughts.map(({ thinking }) => (typeof thinking === 'string' ? thinking : '')).join('')
  return {
    role: 'assistant',
    content: textOf(words, where),
    ...(reasoning !== '' && { reasoning }),
    ...(thoughts.length > 0 && { reasoningBlocks: thoughts.map(unmarked) }),
    ...(calls.length > 0 && { toolCalls: calls }),
  }
}

const callSchema = z.object({ id: z.string(), name: z.string(), input: z.unknown().optional() })

function readCall(block: Block, where: string): ToolCall {
  const call = callSchema.safeParse(block)
  if (!call.success) throw new Refused(`${where}: expected a tool_use with id, name and input`, where)
  return { id: call.data.id, name: call.data.name, arguments: jsonText(call.data.input) }
}

const resultSchema = z.object({ tool_use_id: z.string(), content: contentSchema })

function readHeard(role: 'user' | 'system', blocks: readonly Block[], where: string): ChatMessage[] {
  const results = blocks.filter(({ type }) => type === 'tool_result')
  const words = blocks.filter(({ type }) => type !== 'tool_result')
  return [
    ...results.map((block): ChatMessage => {
      const result = resultSchema.safeParse(block)
      if (!result.success) throw new Refused(`${where}: expected a tool_result with tool_use_id`, where)
      return { role: 'tool', content: textOf(result.data.content, where), toolCallId: result.data.tool_use_id }
    }),
    ...(words.length > 0 ? [{ role, content: textOf(words, where) }] : []),
  ]
}

/** Removes the caller's cache mark, which is not part of a thought. */
function unmarked({ cache_control: _, ...block }: Block): Readonly<Record<string, unknown>> {
  return block
}
