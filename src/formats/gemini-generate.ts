import { z } from 'zod'
import type { ChatMessage, ModelRequest } from '../core/model.ts'
import { readJson } from '../lib/parse-json.ts'
import { makeDraft } from './gemini-generate/draft.ts'
import {
  type Dialect,
  type Hear,
  parseEvent,
  type RenderHow,
  type ServedModel,
  type StreamReader,
  trimBase,
} from './model-dialect.ts'
import { type Fault, faultIn } from './model-fault.ts'

/** Google's generateContent, with an API key. */
export const geminiGenerate: Dialect = {
  name: 'gemini-generate',
  base: (url) => trimBase(url, '/v1beta'),
  headers: (apiKey) => (apiKey === null ? {} : { 'x-goog-api-key': apiKey }),
  path: (model, stream) => `${modelPath(model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  render: renderRequest,
  parse: (document) => {
    const draft = makeDraft(() => {})
    if (draft.add(document)) return { kind: 'reply', reply: draft.end() }
    const fault = faultIn(document, 200)
    return fault ? { kind: 'fault', fault } : { kind: 'malformed', message: 'expected candidates, got none' }
  },
  makeStream: (_, onText, onReasoning) => makeStream(onText, onReasoning),
  modelsPath: '/v1beta/models?pageSize=1000',
  modelPath,
  parseModels,
}

function modelPath(model: string): string {
  return `/v1beta/models/${encodeURIComponent(model)}`
}

function renderRequest(_: string, request: ModelRequest, how: RenderHow): Record<string, unknown> {
  const { tools, jsonSchema, extraBody } = request
  const { systemInstruction, contents } = renderContents(request.messages)
  const dropped = new Set(how.quirks.dropped)
  return {
    ...(systemInstruction && { systemInstruction }),
    contents,
    ...(tools && {
      tools: [
        {
          functionDeclarations: tools.map(({ name, description, parameters }) => ({
            name,
            description,
            parametersJsonSchema: parameters,
          })),
        },
      ],
      toolConfig: { functionCallingConfig: functionCalling(request) },
    }),
    generationConfig: {
      ...(!dropped.has('temperature') && { temperature: request.temperature }),
      ...(!dropped.has('top_p') && { topP: request.topP }),
      maxOutputTokens: request.maxOutputTokens,
      stopSequences: request.stop,
      ...(request.reasoningEffort !== undefined && { thinkingConfig: thinking(request.reasoningEffort) }),
      ...(jsonSchema && { responseMimeType: 'application/json', responseJsonSchema: jsonSchema.schema }),
      ...(request.tokenDetails && !dropped.has('logprobs') && { responseLogprobs: true }),
    },
    ...extraBody,
  }
}

function functionCalling({ toolChoice = 'auto' }: ModelRequest): object {
  if (typeof toolChoice === 'object') return { mode: 'ANY', allowedFunctionNames: [toolChoice.name] }
  return { mode: { auto: 'AUTO', none: 'NONE', required: 'ANY' }[toolChoice] }
}

/** A number is a token budget; a word is a level that the model knows. */
function thinking(effort: string): object {
  if (effort === 'none') return { thinkingBudget: 0 }
  return {
    ...(/^\d+$/.test(effort) ? { thinkingBudget: Number(effort) } : { thinkingLevel: effort }),
    includeThoughts: true,
  }
}

function makeStream(onText: Hear, onReasoning?: Hear): StreamReader {
  const draft = makeDraft(onText, onReasoning)
  let fault: Fault | null = null
  let malformed = false
  return {
    push(data) {
      const document = parseEvent(data)
      fault = faultIn(document, 200)
      malformed = !fault && !draft.add(document)
      // The stop reason comes with the last piece, and so do the counts.
      return fault !== null || malformed
    },
    end() {
      if (fault) return { kind: 'fault', fault }
      if (malformed) return { kind: 'malformed', message: 'expected candidates, got something else' }
      return draft.finished ? { kind: 'reply', reply: draft.end() } : { kind: 'cut' }
    },
  }
}

const modelSchema = z.object({
  name: z.string(),
  inputTokenLimit: z.number().positive().nullish().catch(null),
  outputTokenLimit: z.number().positive().nullish().catch(null),
})

function parseModels(document: unknown): readonly ServedModel[] | null {
  const found = z.union([z.object({ models: z.array(modelSchema) }), modelSchema]).safeParse(document)
  if (!found.success) return null
  const models = 'models' in found.data ? found.data.models : [found.data]
  return models.map(({ name, inputTokenLimit, outputTokenLimit }) => ({
    id: name.replace(/^models\//, ''),
    contextTokens: inputTokenLimit ?? null,
    outputTokens: outputTokenLimit ?? null,
  }))
}

type Part = Record<string, unknown>
interface Content {
  readonly role: 'user' | 'model'
  readonly parts: Part[]
}

/** The conversation as contents with parts, and the system messages separately. */
function renderContents(messages: readonly ChatMessage[]): {
  systemInstruction: { parts: Part[] } | null
  contents: Content[]
} {
  const contents: Content[] = []
  const system: Part[] = []
  const toolNames = new Map(
    messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id, name }) => [id, name] as const)),
  )
  for (const message of messages) {
    if (message.role === 'system') {
      system.push({ text: message.content })
      continue
    }
    const role = message.role === 'assistant' ? 'model' : 'user'
    const parts = partsOf(message, toolNames)
    const last = contents.at(-1)
    // Results of several calls belong in one turn.
    if (last?.role === role) last.parts.push(...parts)
    else contents.push({ role, parts })
  }
  return { systemInstruction: system.length > 0 ? { parts: system } : null, contents }
}

function partsOf(
  { role, content, toolCallId = '', toolCalls = [] }: ChatMessage,
  toolNames: ReadonlyMap<string, string>,
): Part[] {
  if (role === 'tool') {
    return [
      {
        functionResponse: {
          id: toolCallId,
          name: toolNames.get(toolCallId) ?? toolCallId,
          response: { result: content },
        },
      },
    ]
  }
  const calls = toolCalls.map(({ id, name, arguments: text, signature }) => ({
    functionCall: { id, name, args: argumentsOf(text) },
    ...(signature !== undefined && { thoughtSignature: signature }),
  }))
  // A turn needs at least one part, even an empty one.
  return content !== '' || calls.length === 0 ? [{ text: content }, ...calls] : calls
}

function argumentsOf(text: string): object {
  try {
    const value: unknown = readJson(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Not JSON: pass it on unchanged.
  }
  return { text }
}
