import { z } from 'zod'
import type { TokenUsage } from '../../core/budget.ts'
import type { ModelReply, TokenDetails, ToolCall } from '../../core/model.ts'
import { type Hear, numbers, type Parsed } from '../model-dialect.ts'

/** A reply being assembled. A whole reply is one piece; a streamed one has many of the same shape. */
export class ChatDraft {
  private readonly text: string[] = []
  private readonly reasoning: string[] = []
  private readonly calls = new Map<number, { id: string; name: string; arguments: string }>()
  private readonly completionIds: number[] = []
  private readonly logprobs: number[] = []
  private promptIds: readonly number[] | null = null
  private usage: TokenUsage | null = null
  private finish: string | null = null
  private refused = false
  private choices = 0

  constructor(
    private readonly onText: Hear,
    private readonly onReasoning: Hear = () => {},
  ) {}

  /** True once the server has sent a stop reason. */
  get finished(): boolean {
    return this.finish !== null
  }

  /** Adds a document; returns what is wrong with it, or null. */
  add(document: unknown): string | null {
    const parsed = documentSchema.safeParse(document)
    if (!parsed.success) return `expected a chat completion, got ${described(document)}`
    const { data } = parsed
    const [choice] = data.choices
    if (choice) this.addChoice(choice)
    const promptIds = data.prompt_token_ids ?? choice?.provider_specific_fields?.prompt_token_ids
    this.promptIds = numbers(promptIds) ?? this.promptIds
    if (data.usage) this.usage = toUsage(data.usage)
    return null
  }

  /** `closed`: the server explicitly ended the stream. */
  end(closed: boolean): Parsed {
    if (this.choices === 0) return { kind: 'malformed', message: 'expected at least one choice, got none' }
    if (this.finish === null && !closed) return { kind: 'cut' }
    const toolCalls = [...this.calls.values()].map((call, i): ToolCall => ({ ...call, id: call.id || `call_${i}` }))
    const reply = {
      text: this.text.join(''),
      reasoning: this.reasoning.length > 0 ? this.reasoning.join('') : null,
      toolCalls,
      finish: this.refused ? ('content-filter' as const) : finishOf(this.finish, toolCalls.length > 0),
      usage: this.usage,
      tokens: this.tokens(),
    }
    return { kind: 'reply', reply }
  }

  private tokens(): TokenDetails | null {
    const { promptIds } = this
    const completionIds = orNull(this.completionIds)
    const logprobs = orNull(this.logprobs)
    return promptIds || completionIds || logprobs ? { promptIds, completionIds, logprobs } : null
  }

  private addChoice(choice: Choice): void {
    this.choices++
    const piece = choice.delta ?? choice.message
    if (piece) this.addPiece(piece)
    if (choice.finish_reason) this.finish = choice.finish_reason
    push(this.completionIds, numbers(choice.token_ids ?? choice.provider_specific_fields?.token_ids))
    push(this.logprobs, logprobsIn(choice.logprobs))
  }

  private addPiece(piece: Piece): void {
    const thought = piece.reasoning_content || piece.reasoning
    if (thought) {
      this.reasoning.push(thought)
      this.onReasoning(thought)
    }
    const words = contentText(piece.content) + (piece.refusal ?? '')
    this.refused ||= Boolean(piece.refusal)
    if (words !== '') {
      this.text.push(words)
      this.onText(words)
    }
    for (const [i, call] of (piece.tool_calls ?? []).entries()) this.addCall(call.index ?? i, call)
  }

  private addCall(place: number, { id, function: part }: CallPiece): void {
    const known = this.calls.get(place) ?? { id: '', name: '', arguments: '' }
    this.calls.set(place, {
      id: known.id || (id ?? ''),
      name: known.name || (part?.name ?? ''),
      arguments: known.arguments + argumentsText(part?.arguments),
    })
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

const callSchema = z.object({
  index: z.number().int().nullish(),
  id: z.string().nullish(),
  function: z.object({ name: z.string().nullish(), arguments: z.unknown().optional() }).nullish(),
})
type CallPiece = z.output<typeof callSchema>

const pieceSchema = z.object({
  content: z.unknown().optional(),
  refusal: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish().catch(null),
  tool_calls: z.array(callSchema).nullish(),
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

/** `logprobs.content[].logprob`, checked without a schema library, because a long reply has tens of thousands. */
function logprobsIn(value: unknown): readonly number[] | null {
  if (typeof value !== 'object' || value === null || !('content' in value) || !Array.isArray(value.content)) return null
  return numbers(value.content.map((entry: { logprob?: unknown } | null) => entry?.logprob))
}

function described(document: unknown): string {
  if (document === undefined) return 'something that is not JSON'
  if (typeof document !== 'object' || document === null) return JSON.stringify(document).slice(0, 40)
  return `an object with the keys ${Object.keys(document).slice(0, 8).join(', ').slice(0, 120) || '(none)'}`
}

function push(target: number[], values: readonly number[] | null): void {
  for (const value of values ?? []) target.push(value)
}

function orNull(values: readonly number[]): readonly number[] | null {
  return values.length > 0 ? values : null
}
