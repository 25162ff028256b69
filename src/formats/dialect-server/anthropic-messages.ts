import { z } from 'zod'
import type { ModelRequest, ToolDefinition } from '../../core/model.ts'
import { readTurns, systemSchema, turnSchema } from './anthropic-messages-input.ts'
import { makeStream, renderReply } from './anthropic-messages-reply.ts'
import { count, given, mapping, number, parsedBy, read, textOf } from './read-request.ts'
import {
  type CallAddress,
  type FaultKind,
  renderEvent,
  type ServedCall,
  type ServerDialect,
  type ServiceFault,
} from './server-dialect.ts'

/** Anthropic's messages, answered. */
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

const toolSchema = z.object({
  name: z.string(),
  type: z.string().nullish(),
  description: z.string().nullish(),
  input_schema: mapping.nullish(),
})

const bodySchema = z.looseObject({
  model: z.string(),
  messages: z.array(turnSchema).min(1),
  system: systemSchema,
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

/** A budget of thinking stays a number; how much an adaptive model thinks is its own affair. */
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
