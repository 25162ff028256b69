import type { TokenUsage } from '../core/budget.ts'
import type { ModelReply, ModelRequest } from '../core/model.ts'
import { parseJson, replyLimits } from '../lib/parse-json.ts'
import type { Fault } from './model-fault.ts'

/** What was found out about a server that does not take everything the dialect has. */
export interface Quirks {
  /** Which of the two names an output limit has. */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens'
  /** Names of parts of the request that the server refuses. */
  readonly dropped: readonly string[]
}

export interface RenderHow {
  readonly stream: boolean
  readonly quirks: Quirks
  /** The limit of the reply when the request names none but the dialect must. */
  readonly defaultOutputTokens: number
}

/** A reply as the wire gives it: no price, no time; `usage` is null when the server counted nothing. */
export interface WireReply
  extends Pick<ModelReply, 'text' | 'reasoning' | 'reasoningBlocks' | 'toolCalls' | 'finish' | 'tokens'> {
  readonly usage: TokenUsage | null
}

export type Parsed =
  | { readonly kind: 'reply'; readonly reply: WireReply }
  /** The server says what is wrong, in a reply that began well. */
  | { readonly kind: 'fault'; readonly fault: Fault }
  /** Not what the dialect says a reply looks like. */
  | { readonly kind: 'malformed'; readonly message: string }
  /** A stream that ended before its end. */
  | { readonly kind: 'cut' }

/** Puts a streamed reply together, event by event. */
export interface StreamReader {
  /** Takes the data of one event; returns true when the reply is complete, whatever the server still sends. */
  push(data: string): boolean
  end(): Parsed
}

/** Takes a piece of a text as it arrives. */
export type Hear = (piece: string) => void

/** A model as the server lists it. */
export interface ServedModel {
  readonly id: string
  readonly contextTokens: number | null
  readonly outputTokens: number | null
}

/** How to ask one family of servers: pure functions between our words and theirs. Paths follow the API's base address. */
export interface Dialect {
  readonly name: string
  /** The API's base address without what the paths already say. */
  base(url: string): string
  headers(apiKey: string | null): Readonly<Record<string, string>>
  path(model: string, stream: boolean): string
  render(model: string, request: ModelRequest, how: RenderHow): Readonly<Record<string, unknown>>
  parse(document: unknown, request: ModelRequest): Parsed
  makeStream(request: ModelRequest, onText: Hear, onReasoning?: Hear): StreamReader
  readonly modelsPath: string
  /** Where one model is described, when a name may be good although the list does not show it. */
  modelPath(model: string): string | null
  /** Who may use a model may be refused its description. */
  readonly isListPrivate?: boolean
  /** Reads a list, or the description of one model; null when it is neither. */
  parseModels(document: unknown): readonly ServedModel[] | null
}

/** Ends in one slash less than it began with. */
export function trimBase(url: string, ...endings: readonly string[]): string {
  const bare = url.replace(/\/+$/, '')
  const ending = endings.find((path) => bare.endsWith(path))
  return ending === undefined ? bare : bare.slice(0, -ending.length)
}

/** The document in one event of a stream, or undefined when it is no JSON. */
export function parseEvent(data: string): unknown {
  return parseJson(data, replyLimits)
}

/** A list of finite numbers, or null when it is anything else or empty. Checked by hand: such lists are long. */
export function numbers(value: unknown): readonly number[] | null {
  if (!Array.isArray(value) || value.length === 0) return null
  return value.every((item) => typeof item === 'number') ? value : null
}
