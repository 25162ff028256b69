import { z } from 'zod'
import type { ChatMessage, ModelRequest } from '../core/model.ts'
import {
  type Dialect,
  type Hear,
  parseEvent,
  type RenderHow,
  type ServedModel,
  type StreamReader,
  trimBase,
} from './model-dialect.ts'
import { faultIn } from './model-fault.ts'
import { ChatDraft } from './openai-chat/draft.ts'

/** Known differences between servers with this API. */
export interface ChatFlavour {
  /** The field in which reasoning is sent back; null if a server refuses it. */
  readonly reasoningField: 'reasoning_content' | null
}

/** OpenAI's chat completions, which vLLM, SGLang, llama.cpp and many others support too. */
export function openaiChat(flavour: ChatFlavour): Dialect {
  return {
    name: 'openai-chat',
    base: (url) => trimBase(url, '/chat/completions'),
    headers: (apiKey) => (apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    path: () => '/chat/completions',
    render: (model, request, how) => renderChat(model, request, how, flavour),
    parse: (document) => {
      const draft = new ChatDraft(() => {})
      const problem = draft.add(document)
      if (problem === null) return draft.end(true)
      const fault = faultIn(document, 200)
      return fault ? { kind: 'fault', fault } : { kind: 'malformed', message: problem }
    },
    makeStream: (_, onText, onReasoning) => makeStream(onText, onReasoning),
    modelsPath: '/models',
    modelPath: () => null,
    parseModels,
  }
}

function renderChat(
  model: string,
  request: ModelRequest,
  how: RenderHow,
  flavour: ChatFlavour,
): Record<string, unknown> {
  const { maxTokensField, dropped } = how.quirks
  const { toolChoice, jsonSchema } = request
  const body: Record<string, unknown> = {
    model,
    messages: request.messages.map((message) => renderMessage(message, flavour)),
    temperature: request.temperature,
    top_p: request.topP,
    [maxTokensField]: request.maxOutputTokens,
    stop: request.stop,
    reasoning_effort: request.reasoningEffort,
    tools: request.tools?.map((tool) => ({ type: 'function', function: tool })),
    tool_choice: typeof toolChoice === 'object' ? { type: 'function', function: toolChoice } : toolChoice,
    response_format: jsonSchema && { type: 'json_schema', json_schema: { ...jsonSchema, strict: true } },
    ...(request.tokenDetails && { logprobs: true, return_token_ids: true }),
    session_id: request.sessionId,
    ...request.extraBody,
    ...(how.stream && { stream: true, stream_options: { include_usage: true } }),
  }
  for (const name of dropped) delete body[name]
  return body
}

function renderMessage(message: ChatMessage, { reasoningField }: ChatFlavour): Record<string, unknown> {
  const { role, content, reasoning, toolCalls = [], toolCallId } = message
  if (role === 'tool') return { role, tool_call_id: toolCallId, content }
  return {
    role,
    content: content === '' && toolCalls.length > 0 ? null : content,
    ...(reasoning !== undefined && reasoningField !== null && { [reasoningField]: reasoning }),
    ...(toolCalls.length > 0 && {
      tool_calls: toolCalls.map(({ id, name, arguments: text }) => ({
        id,
        type: 'function',
        function: { name, arguments: text },
      })),
    }),
  }
}

function makeStream(onText: Hear, onReasoning?: Hear): StreamReader {
  const draft = new ChatDraft(onText, onReasoning)
  let closed = false
  let fault: ReturnType<typeof faultIn> = null
  let problem: string | null = null
  return {
    push(data) {
      if (data.trim() === '[DONE]') {
        closed = true
        return true
      }
      const document = parseEvent(data)
      fault = faultIn(document, 200)
      if (!fault) problem = draft.add(document)
      return fault !== null || problem !== null
    },
    end() {
      if (fault) return { kind: 'fault', fault }
      if (problem !== null) return { kind: 'malformed', message: problem }
      return draft.finished || closed ? draft.end(closed) : { kind: 'cut' }
    },
  }
}

const count = z.number().int().positive().nullish().catch(null)

const modelsSchema = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      max_model_len: count,
      context_length: count,
      context_window: count,
      meta: z.object({ n_ctx: count, n_ctx_train: count }).nullish().catch(null),
    }),
  ),
})

/** vLLM and SGLang use `max_model_len`, llama.cpp `meta.n_ctx`, routers `context_length`. */
function parseModels(document: unknown): readonly ServedModel[] | null {
  const models = modelsSchema.safeParse(document)
  if (!models.success) return null
  return models.data.data.map((model) => ({
    id: model.id,
    contextTokens:
      model.max_model_len ??
      model.context_length ??
      model.context_window ??
      model.meta?.n_ctx ??
      model.meta?.n_ctx_train ??
      null,
    outputTokens: null,
  }))
}
