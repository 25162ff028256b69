import type { TokenUsage } from '../core/budget.ts'
import type { ModelReply, ModelRequest } from '../core/model.ts'
import { parseJson, replyLimits } from '../lib/parse-json.ts'
import type { Fault } from './model-fault.ts'

/** What was learned about a server that does not support everything in its API. */
export interface Quirks {
  /** The server's name for the output limit. */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens'
  /** Parts of the request that the server refuses. */
  readonly dropped: readonly string[]
}

export interface RenderHow {
  readonly stream: boolean
  readonly quirks: Quirks
  /** The reply limit if the request has none but the API requires one. */
  readonly defaultOutputTokens: number
}

/** A reply as received: without price and time; `usage` is null if the server reports none. */
export interface WireReply
  extends Pick<ModelReply, 'text' | 'reasoning' | 'reasoningBlocks' | 'toolCalls' | 'finish' | 'tokens'> {
  readonly usage: TokenUsage | null
}

export type Parsed =
  | { readonly kind: 'reply'; readonly reply: WireReply }
  /** The server reports an error after a successful start. */
  | { readonly kind: 'fault'; readonly fault: Fault }
  /** Not a valid reply in this API. */
  | { readonly kind: 'malformed'; readonly message: string }
  /** A stream that ended prematurely. */
  | { readonly kind: 'cut' }

/** Assembles a streamed reply, event by event. */
export interface StreamReader {
  /** Processes the data of one event; returns true once the reply is complete, whatever the server still sends. */
  push(data: string): boolean
  end(): Parsed
}

/** Receives a piece of text as it arrives. */
export type Hear = (piece: string) => void

/** A model as listed by the server. */
export interface ServedModel {
  readonly id: string
  readonly contextTokens: number | null
  readonly outputTokens: number | null
}

/**
 * How to talk to one family of servers, as pure functions between our format and theirs. Paths are relative to the
 * API's base URL.
 */
export interface Dialect {
  readonly name: string
  /** The API's base URL without the parts that the paths already contain. */
  base(url: string): string
  headers(apiKey: string | null): Readonly<Record<string, string>>
  path(model: string, stream: boolean): string
  render(model: string, request: ModelRequest, how: RenderHow): Readonly<Record<string, unknown>>
  parse(document: unknown, request: ModelRequest): Parsed
  makeStream(request: ModelRequest, onText: Hear, onReasoning?: Hear): StreamReader
  readonly modelsPath: string
  /** The path describing one model, for servers whose list may omit valid names. */
  modelPath(model: string): string | null
  /** True if a caller who may use a model may still be denied its description. */
  readonly isListPrivate?: boolean
  /** Parses a model list, or the description of one model; null if it is neither. */
  parseModels(document: unknown): readonly ServedModel[] | null
}

/** Trims the given endings and the trailing slash from a URL. */
export function trimBase(url: string, ...endings: readonly string[]): string {
  const bare = url.replace(/\/+$/, '')
  const ending = endings.find((path) => bare.endsWith(path))
  return ending === undefined ? bare : bare.slice(0, -ending.length)
}

/** The JSON document in a stream event, or undefined if it is not JSON. */
export function parseEvent(data: string): unknown {
  return parseJson(data, replyLimits)
}

/**
 * A non-empty list of finite numbers, or null for anything else. Checked without a schema library, because such lists
 * are long.
 */
export function numbers(value: unknown): readonly number[] | null {
  if (!Array.isArray(value) || value.length === 0) return null
  return value.every((item) => typeof item === 'number') ? value : null
}
