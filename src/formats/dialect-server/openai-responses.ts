import { z } from 'zod'
import type { ChatMessage, ModelRequest, ToolDefinition } from '../../core/model.ts'
import { textParameters } from './openai-chat.ts'
import { openaiFault } from './openai-fault.ts'
import { modelName, readInput } from './openai-responses-input.ts'
import { makeStream, renderReply } from './openai-responses-reply.ts'
import { count, given, mapping, number, parsedBy, Refused, read } from './read-request.ts'
import {
  type CallAddress,
  comment,
  type NamespacedName,
  type ServedCall,
  type ServerDialect,
  type ServiceFault,
} from './server-dialect.ts'

/**
 * The server side of OpenAI's responses API. Nothing is stored between calls, so each must contain its whole
 * conversation.
 */
export const openaiResponsesServer: ServerDialect = {
  name: 'openai-responses',
  parse: (document, address) => parsedBy(() => parseResponses(document, address)),
  render: renderReply,
  makeStream,
  streamsThoughts: true,
  renderFault: openaiFault,
  faultEvent: (fault) => ({ name: 'response.failed', data: JSON.stringify(failedResponse(fault)) }),
  heartbeat: comment,
}

const plainToolSchema = z.object({
  type: z.string(),
  name: z.string().nullish(),
  description: z.string().nullish(),
  parameters: mapping.nullish(),
})
/** Some callers group the tools of a server in a namespace. */
const toolSchema = plainToolSchema.extend({ tools: z.array(plainToolSchema).nullish() })

const bodySchema = z.looseObject({
  model: z.string(),
  input: z.union([z.string(), z.array(z.looseObject({ type: z.string().nullish() }))]),
  instructions: z.string().nullish(),
  stream: z.boolean().nullish(),
  temperature: number,
  top_p: number,
  max_output_tokens: count,
  reasoning: z.object({ effort: z.string().nullish() }).nullish(),
  tools: z.array(toolSchema).nullish(),
  tool_choice: z.union([z.enum(['auto', 'none', 'required']), z.looseObject({ type: z.string() })]).nullish(),
  text: z.object({ format: z.looseObject({ type: z.string() }).nullish() }).nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.unknown().optional(),
  prompt: z.unknown().optional(),
  background: z.boolean().nullish(),
})
type Body = z.output<typeof bodySchema>

/** Sampling settings with the same names in other APIs. */
const passedOn = ['top_k', 'seed', 'parallel_tool_calls']

function parseResponses(document: unknown, { stream }: CallAddress): ServedCall {
  const body = read(bodySchema, document)
  refuseMemory(body)
  const others = Object.keys(body).filter((key) => !Object.hasOwn(bodySchema.shape, key))
  const extra = Object.fromEntries(others.filter((key) => passedOn.includes(key)).map((key) => [key, body[key]]))
  const all = (body.tools ?? []).flatMap(withoutNamespace)
  const tools = all.filter(isCallable)
  const foreign = all.filter((tool) => !isCallable(tool)).map(({ type }) => `tool ${type}`)
  const spaced = tools.flatMap(({ name, known }) => (known && name ? [[name, known] as const] : []))
  const instructions: ChatMessage[] = body.instructions ? [{ role: 'system', content: body.instructions }] : []
  const request: ModelRequest = {
    messages: [...instructions, ...readInput(body.input)],
    ...given({
      temperature: body.temperature,
      topP: body.top_p,
      maxOutputTokens: body.max_output_tokens,
      reasoningEffort: body.reasoning?.effort,
      tools: tools.length > 0 ? tools.map(readTool) : null,
      toolChoice: readChoice(body.tool_choice),
      jsonSchema: readFormat(body.text?.format),
      extraBody: Object.keys(extra).length > 0 ? extra : null,
    }),
  }
  return {
    model: body.model,
    stream: stream || (body.stream ?? false),
    request,
    ignored: [...others.filter((key) => !passedOn.includes(key)), ...foreign],
    shape: {
      streamUsage: true,
      textTools: tools.flatMap(({ type, name }) => (type === 'custom' && name) || []),
      ...(spaced.length > 0 && { namespaced: Object.fromEntries(spaced) }),
    },
  }
}

function refuseMemory(body: Body): void {
  const kept = (['previous_response_id', 'conversation', 'prompt'] as const).find((key) => body[key])
  if (kept) throw new Refused(`${kept}: expected the whole conversation in input; nothing is kept here`, kept)
  if (body.background) throw new Refused('background: expected false; a reply is given at once', 'background')
}

/** `known`: the caller's name for it, if that has a namespace. */
type Tool = z.output<typeof plainToolSchema> & { readonly known?: NamespacedName }

/** The tools in a namespace, each under a combined name. */
function withoutNamespace({ tools, ...tool }: z.output<typeof toolSchema>): Tool[] {
  if (tool.type !== 'namespace' || !tools) return [tool]
  const namespace = tool.name ?? ''
  return tools.map((inner) => {
    const known = { namespace, name: inner.name ?? '' }
    return { ...inner, name: modelName(known.name, namespace), known }
  })
}

/** Hosted tools, such as a web search, are not available here, so the model is not offered them. */
function isCallable({ type, name }: Tool): boolean {
  return (type === 'function' || type === 'custom') && Boolean(name)
}

function readTool({ type, name, description, parameters }: Tool): ToolDefinition {
  const shape = type === 'custom' ? textParameters : (parameters ?? { type: 'object', properties: {} })
  return { name: name ?? '', description: description ?? '', parameters: shape }
}

function readChoice(choice: Body['tool_choice']): ModelRequest['toolChoice'] | null {
  if (!choice || typeof choice === 'string') return choice ?? null
  return typeof choice.name === 'string' ? { name: choice.name } : null
}

const formatSchema = z.object({ name: z.string(), schema: mapping })

function readFormat(format: NonNullable<Body['text']>['format']): ModelRequest['jsonSchema'] | null {
  if (format?.type !== 'json_schema') return null
  const { name, schema } = read(formatSchema, format)
  return { name, schema }
}

function failedResponse(fault: ServiceFault): Record<string, unknown> {
  const { error } = openaiFault(fault)
  return { type: 'response.failed', response: { object: 'response', status: 'failed', error, output: [] } }
}
