/** One turn of a conversation with a model. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
  readonly reasoning?: string
  readonly toolCalls?: readonly ToolCall[]
  /** For role `tool`: which call this answers. */
  readonly toolCallId?: string
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON text, as the model wrote it. */
  readonly arguments: string
}

export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: Readonly<Record<string, unknown>>
}

export interface ModelRequest {
  readonly messages: readonly ChatMessage[]
  readonly temperature?: number
  readonly topP?: number
  readonly maxOutputTokens?: number
  readonly stop?: readonly string[]
  /** none, minimal, low, medium, high, ... as the server understands it. */
  readonly reasoningEffort?: string
  readonly tools?: readonly ToolDefinition[]
  /** The reply must be JSON of this shape. */
  readonly jsonSchema?: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> }
  /** Ask for token ids and log probabilities, where the server gives them. */
  readonly tokenDetails?: boolean
  /** Passed on in the request's body as they are. */
  readonly extraBody?: Readonly<Record<string, unknown>>
  readonly sessionId?: string
}

export interface TokenUsage {
  /** Includes tokens served from the cache. */
  readonly inputTokens: number
  readonly cacheTokens: number
  readonly outputTokens: number
}

/** What a server said about single tokens; a part it did not give is null. */
export interface TokenDetails {
  readonly promptIds: readonly number[] | null
  readonly completionIds: readonly number[] | null
  readonly logprobs: readonly number[] | null
}

export interface ModelReply {
  readonly text: string
  readonly reasoning: string | null
  readonly toolCalls: readonly ToolCall[]
  /** `length`: cut off at the output limit. */
  readonly finish: 'stop' | 'length' | 'content-filter' | 'tool-calls'
  readonly usage: TokenUsage
  /** Null when no price is known. */
  readonly costUsd: number | null
  readonly tokens: TokenDetails | null
  readonly latencyMs: number
}

/**
 * How a call that reached the model ended. Running out of context or budget is a value; a server that is down, refuses
 * the key, or answers nonsense is a BoundaryError 'model' whose code says which.
 */
export type ModelOutcome =
  | { readonly kind: 'reply'; readonly reply: ModelReply }
  | { readonly kind: 'context-exceeded'; readonly message: string }
  | { readonly kind: 'budget-exceeded'; readonly budget: string }

/** What is known about a model before it is asked anything. */
export interface ModelFacts {
  readonly contextTokens: number | null
  readonly outputTokens: number | null
  readonly inputUsdPerToken: number | null
  readonly cacheUsdPerToken: number | null
  readonly outputUsdPerToken: number | null
}

export interface CallOptions {
  readonly signal?: AbortSignal
  /** The whole call, retries included, ends within this. */
  readonly timeoutSec?: number
  /** Called with each piece of text as it arrives; asks for a stream. */
  readonly onText?: (text: string) => void
}

/** A model one can talk to: the only way any part of this program calls one. */
export interface ModelClient {
  /** As given, for example `openai/gpt-x`. */
  readonly model: string
  readonly facts: ModelFacts
  complete(request: ModelRequest, options?: CallOptions): Promise<ModelOutcome>
  /** How many tokens a conversation is, or a careful guess; `exact` says which. */
  countTokens(messages: readonly ChatMessage[]): { readonly tokens: number; readonly exact: boolean }
}

/** Where an engine answers. */
export interface Endpoint {
  readonly baseUrl: string
  /** The name the server knows the model by. */
  readonly modelName: string
  readonly apiKey: string | null
  /** Where metrics are, if anywhere: vLLM's `/metrics`. */
  readonly metricsUrl: string | null
}

/** What serves a model, or reaches a served one. */
export interface Engine {
  readonly name: string
  readonly endpoint: Endpoint | null
  /** Asks the server whether it is up and has the model; says what is wrong otherwise. */
  health(signal: AbortSignal): Promise<{ readonly healthy: true } | { readonly healthy: false; readonly reason: string }>
  client(model: string): ModelClient
}
