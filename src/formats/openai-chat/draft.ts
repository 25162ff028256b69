import { z } from 'zod'
import type { ModelReply, TokenUsage, ToolCall } from '../../core/model.ts'
import { numbers, type Parsed } from '../model-dialect.ts'

/** A reply being put together. A whole reply is one piece; a streamed one has many of the same shape. */
export interface Draft {
  /** Adds a document; says what is wrong with it, or null. */
  add(document: unknown): string | null
  /** True once the server has said why it stopped. */
  readonly finished: boolean
  /** `closed`: the server itself said that nothing follows. */
  end(closed: boolean): Parsed
}

export function makeDraft(onText: (text: string) => void): Draft {
  const text: string[] = []
  const reasoning: string[] = []
  const calls = new Map<number, { id: string; name: string; arguments: string }>()
  const completionIds: number[] = []
  const logprobs: number[] = []
  let promptIds: readonly number[] | null = null
  let usage: TokenUsage | null = null
  let finish: string | null = null
  let refused = false
  let choices = 0

  const addPiece = (piece: Piece) => {
    const words = contentText(piece.content) + (piece.refusal ?? '')
    refused ||= Boolean(piece.refusal)
    if (words !== '') {
      text.push(words)
      onText(words)
    }
    const thought = piece.reasoning_content || piece.reasoning
    if (thought) reasoning.push(thought)
    for (const [i, call] of (piece.tool_calls ?? []).entries()) {
      const place = call.index ?? i
      const known = calls.get(place) ?? { id: '', name: '', arguments: '' }
      calls.set(place, {
        id: known.id || (call.id ?? ''),
        name: known.name || (call.function?.name ?? ''),
        arguments: known.arguments + argumentsText(call.function?.arguments),
      })
    }
  }

  const addChoice = (choice: Choice) => {
    choices++
    const piece = choice.delta ?? choice.message
    if (piece) addPiece(piece)
    if (choice.finish_reason) finish = choice.finish_reason
    push(completionIds, numbers(choice.token_ids ?? choice.provider_specific_fields?.token_ids))
    push(logprobs, logprobsIn(choice.logprobs))
  }

  return {
    get finished() {
      return finish !== null
    },
    add(document) {
      const parsed = documentSchema.safeParse(document)
      if (!parsed.success) return `expected a chat completion, got ${described(document)}`
      const { data } = parsed
      const [choice] = data.choices
      if (choice) addChoice(choice)
      promptIds = numbers(data.prompt_token_ids ?? choice?.provider_specific_fields?.prompt_token_ids) ?? promptIds
      if (data.usage) usage = toUsage(data.usage)
      return null
    },
    end(closed) {
      if (choices === 0) return { kind: 'malformed', message: 'expected at least one choice, got none' }
      if (finish === null && !closed) return { kind: 'cut' }
      const toolCalls = [...calls.values()].map((call, i): ToolCall => ({ ...call, id: call.id || `call_${i}` }))
      const tokens =
        promptIds || completionIds.length > 0 || logprobs.length > 0
          ? { promptIds, completionIds: orNull(completionIds), logprobs: orNull(logprobs) }
          : null
      const reply = {
        text: text.join(''),
        reasoning: reasoning.length > 0 ? reasoning.join('') : null,
        toolCalls,
        finish: refused ? ('content-filter' as const) : finishOf(finish, toolCalls.length > 0),
        usage,
        tokens,
      }
      return { kind: 'reply', reply }
    },
  }
}

function finishOf(reason: string | null, hasCalls: boolean): ModelReply['finish'] {
  if (reason === 'length' || reason === 'max_tokens') return 'length'
  if (reason === 'content_filter') return 'content-filter'
  return hasCalls ? 'tool-calls' : 'stop'
}

const counter = z.number().nonnegative().nullish().catch(null)

const usageSchema = z.object({
  prompt_tokens: counter,
  completion_tokens: counter,
  prompt_tokens_details: z.object({ cached_tokens: counter }).nullish().catch(null),
  prompt_cache_hit_tokens: counter,
})

function toUsage(usage: z.output<typeof usageSchema>): TokenUsage {
  return {
    inputTokens: usage.prompt_tokens ?? 0,
    cacheTokens: usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? 0,
    outputTokens: usage.completion_tokens ?? 0,
  }
}

const pieceSchema = z.object({
  content: z.unknown().optional(),
  refusal: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish().catch(null),
  tool_calls: z
    .array(
      z.object({
        index: z.number().int().nullish(),
        id: z.string().nullish(),
        function: z.object({ name: z.string().nullish(), arguments: z.unknown().optional() }).nullish(),
      }),
    )
    .nullish(),
})
type Piece = z.output<typeof pieceSchema>

const choiceSchema = z.object({
  delta: pieceSchema.nullish(),
  message: pieceSchema.nullish(),
  finish_reason: z.string().nullish(),
  logprobs: z.unknown().optional(),
  token_ids: z.unknown().optional(),
  provider_specific_fields: z
    .object({ token_ids: z.unknown().optional(), prompt_token_ids: z.unknown().optional() })
    .nullish()
    .catch(null),
})
type Choice = z.output<typeof choiceSchema>

const documentSchema = z.object({
  choices: z.array(choiceSchema),
  usage: usageSchema.nullish(),
  prompt_token_ids: z.unknown().optional(),
})

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: unknown) => textPart.safeParse(part).data?.text ?? '').join('')
}

const textPart = z.object({ type: z.literal('text'), text: z.string() })

function argumentsText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** `logprobs.content[].logprob`, checked by hand: a long reply has tens of thousands. */
function logprobsIn(value: unknown): readonly number[] | null {
  if (typeof value !== 'object' || value === null || !('content' in value) || !Array.isArray(value.content)) return null
  return numbers(value.content.map((entry: { logprob?: unknown } | null) => entry?.logprob))
}

function described(document: unknown): string {
  if (document === undefined) return 'something that is no JSON'
  if (typeof document !== 'object' || document === null) return JSON.stringify(document).slice(0, 40)
  return `an object with the keys ${Object.keys(document).slice(0, 8).join(', ').slice(0, 120) || '(none)'}`
}

function push(target: number[], values: readonly number[] | null): void {
  for (const value of values ?? []) target.push(value)
}

function orNull(values: readonly number[]): readonly number[] | null {
  return values.length > 0 ? values : null
}
