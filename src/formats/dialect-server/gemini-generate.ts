import { z } from 'zod'
import type { ModelRequest, ToolDefinition } from '../../core/model.ts'
import { contentSchema, readContents, systemText } from './gemini-generate-input.ts'
import { makeStream, renderReply } from './gemini-generate-reply.ts'
import { count, given, mapping, number, parsedBy, Refused, read } from './read-request.ts'
import {
  type CallAddress,
  comment,
  dataEvent,
  type FaultKind,
  type ServedCall,
  type ServerDialect,
  type ServiceFault,
  statusOf,
} from './server-dialect.ts'

/** The server side of Google's generateContent and streamGenerateContent. */
export const geminiGenerateServer: ServerDialect = {
  name: 'gemini-generate',
  parse: (document, address) => parsedBy(() => parseGenerate(document, address)),
  render: renderReply,
  makeStream,
  streamsThoughts: true,
  renderFault,
  faultEvent: (fault) => dataEvent(renderFault(fault)),
  heartbeat: comment,
}

const declarationSchema = z.object({
  name: z.string(),
  description: z.string().nullish(),
  parameters: mapping.nullish(),
  parametersJsonSchema: mapping.nullish(),
})

const configSchema = z.looseObject({
  temperature: number,
  topP: number,
  topK: number,
  seed: number,
  maxOutputTokens: count,
  stopSequences: z.array(z.string()).nullish(),
  responseMimeType: z.string().nullish(),
  responseSchema: mapping.nullish(),
  responseJsonSchema: mapping.nullish(),
  responseLogprobs: z.boolean().nullish(),
  candidateCount: z.number().nullish(),
  thinkingConfig: z.object({ thinkingBudget: z.number().nullish(), thinkingLevel: z.string().nullish() }).nullish(),
})

const bodySchema = z.looseObject({
  contents: z.array(contentSchema).min(1),
  systemInstruction: z.union([z.string(), contentSchema]).nullish(),
  tools: z.array(z.looseObject({ functionDeclarations: z.array(declarationSchema).nullish() })).nullish(),
  toolConfig: z
    .object({
      functionCallingConfig: z
        .object({ mode: z.string().nullish(), allowedFunctionNames: z.array(z.string()).nullish() })
        .nullish(),
    })
    .nullish(),
  generationConfig: configSchema.nullish(),
})
type Body = z.output<typeof bodySchema>

function parseGenerate(document: unknown, { model, stream, query }: CallAddress): ServedCall {
  if (stream && query.alt !== 'sse') throw new Refused('alt: expected sse; a stream is sent as events only', 'alt')
  const body = read(bodySchema, document)
  const config = body.generationConfig ?? {}
  if ((config.candidateCount ?? 1) !== 1) throw new Refused('candidateCount: expected 1', 'candidateCount')
  const system = systemText(body.systemInstruction)
  const tools = (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []).map(readTool)
  const extra = given({ top_k: config.topK, seed: config.seed })
  const request: ModelRequest = {
    messages: [
      ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
      ...readContents(body.contents),
    ],
    ...given({
      temperature: config.temperature,
      topP: config.topP,
      maxOutputTokens: config.maxOutputTokens,
      stop: config.stopSequences,
      reasoningEffort: effortOf(config),
      tools: tools.length > 0 ? tools : null,
      toolChoice: readChoice(body),
      jsonSchema: readFormat(config),
      tokenDetails: config.responseLogprobs ? true : null,
      extraBody: Object.keys(extra).length > 0 ? extra : null,
    }),
  }
  return {
    model: (model ?? '').replace(/^models\//, ''),
    stream,
    request,
    ignored: ignoredIn(body),
    shape: { streamUsage: true, textTools: [] },
  }
}

function ignoredIn(body: Body): string[] {
  const unknown = (value: object, known: object) => Object.keys(value).filter((key) => !Object.hasOwn(known, key))
  const ofTools = (body.tools ?? []).flatMap((tool) => unknown(tool, { functionDeclarations: 1 }))
  return [
    ...unknown(body, bodySchema.shape),
    ...unknown(body.generationConfig ?? {}, configSchema.shape),
    ...ofTools.map((name) => `tool ${name}`),
  ]
}

function readTool({
  name,
  description,
  parameters,
  parametersJsonSchema,
}: z.output<typeof declarationSchema>): ToolDefinition {
  const shape = parametersJsonSchema ?? (parameters ? plainSchema(parameters) : { type: 'object', properties: {} })
  return { name, description: description ?? '', parameters: { ...Object(shape) } }
}

/** Google's own schemas write types in upper case, all others in lower case. */
function plainSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainSchema)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === 'type' && typeof item === 'string' ? item.toLowerCase() : plainSchema(item),
    ]),
  )
}

function readChoice({ toolConfig }: Body): ModelRequest['toolChoice'] | null {
  const { mode, allowedFunctionNames: names } = toolConfig?.functionCallingConfig ?? {}
  if (mode === 'NONE') return 'none'
  if (mode !== 'ANY') return mode === 'AUTO' ? 'auto' : null
  const [name] = names ?? []
  return names?.length === 1 && name !== undefined ? { name } : 'required'
}

type Config = z.output<typeof configSchema>

function effortOf({ thinkingConfig }: Config): string | null {
  const { thinkingLevel, thinkingBudget } = thinkingConfig ?? {}
  if (thinkingLevel) return thinkingLevel.toLowerCase()
  if (thinkingBudget === 0) return 'none'
  // A negative budget leaves it to the model.
  return thinkingBudget && thinkingBudget > 0 ? String(thinkingBudget) : null
}

function readFormat({
  responseMimeType,
  responseJsonSchema,
  responseSchema,
}: Config): ModelRequest['jsonSchema'] | null {
  if (responseMimeType !== 'application/json') return null
  const schema = responseJsonSchema ?? (responseSchema && plainSchema(responseSchema)) ?? { type: 'object' }
  return { name: 'reply', schema: { ...Object(schema) } }
}

function renderFault(fault: ServiceFault): Record<string, unknown> {
  const known = fault.kind === 'context-exceeded' && !/input token count/i.test(fault.message)
  const message = known
    ? `The input token count exceeds the maximum number of tokens allowed: ${fault.message}`
    : fault.message
  return { error: { code: statusOf(fault), message, status: words[fault.kind] } }
}

const words: Readonly<Record<FaultKind, string>> = {
  'invalid-request': 'INVALID_ARGUMENT',
  'context-exceeded': 'INVALID_ARGUMENT',
  auth: 'UNAUTHENTICATED',
  forbidden: 'PERMISSION_DENIED',
  'not-found': 'NOT_FOUND',
  'too-large': 'INVALID_ARGUMENT',
  'rate-limit': 'RESOURCE_EXHAUSTED',
  server: 'INTERNAL',
  overloaded: 'UNAVAILABLE',
  timeout: 'DEADLINE_EXCEEDED',
}
