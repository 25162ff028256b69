import type { Account, TokenUsage } from './budget.ts'

/** One turn of a conversation with a model. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
  readonly reasoning?: string
  /** The provider's own signed form of the reasoning, sent back exactly as it came. */
  readonly reasoningBlocks?: readonly Readonly<Record<string, unknown>>[]
  readonly toolCalls?: readonly ToolCall[]
  /** For role `tool`: which call this answers. */
  readonly toolCallId?: string
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON text, as the model wrote it. */
  readonly arguments: string
  /** What the provider needs to see again with this call, sent back exactly as it came. */
  readonly signature?: string
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
  /** Default `auto`. */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly name: string }
  /** The reply must be JSON of this shape. */
  readonly jsonSchema?: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> }
  /** Ask for token ids and log probabilities, where the server gives them. */
  readonly tokenDetails?: boolean
  /** Added to the request's body as is. */
  readonly extraBody?: Readonly<Record<string, unknown>>
  /** Lets a server keep the calls of one conversation together. */
  readonly sessionId?: string
  /**
   * What the call is for, if it is not part of the agent's main conversation: `summarization-1-summary`, for example.
   * Never sent.
   */
  readonly purpose?: string
  /** The API through which a command-line agent sent the request. Never sent. */
  readonly dialect?: string
}

/** What a server reported about single tokens; parts it did not report are null. */
export interface TokenDetails {
  readonly promptIds: readonly number[] | null
  readonly completionIds: readonly number[] | null
  readonly logprobs: readonly number[] | null
}

export interface ModelReply {
  readonly text: string
  readonly reasoning: string | null
  readonly reasoningBlocks?: readonly Readonly<Record<string, unknown>>[]
  readonly toolCalls: readonly ToolCall[]
  /** `length`: cut off at the output limit. */
  readonly finish: 'stop' | 'length' | 'content-filter' | 'tool-calls'
  readonly usage: TokenUsage
  /** Null when no price is known. */
  readonly costUsd: number | null
  readonly tokens: TokenDetails | null
  /** Of the request that was answered, without waiting and earlier attempts. */
  readonly latencyMs: number
  /** How many requests it took; 0 when the answer came from the response cache. Absent means 1. */
  readonly attempts?: number
  /** What was requested but left out because the server refuses it: `temperature`, for example. */
  readonly dropped?: readonly string[]
  /** The number of the call in the trial's `exchanges.jsonl`, where there is one: see `Recorder.mark`. */
  readonly call?: number
}

/**
 * How a call that reached the model ended. Running out of context or budget is a value; a server that is down, refuses
 * the key, or answers nonsense is a BoundaryError 'model' whose code says which.
 */
export type ModelOutcome =
  | { readonly kind: 'reply'; readonly reply: ModelReply }
  | { readonly kind: 'context-exceeded'; readonly message: string }
  | { readonly kind: 'budget-exceeded'; readonly budget: string }

/** What is known about a model before the first call. */
export interface ModelFacts {
  readonly contextTokens: number | null
  readonly outputTokens: number | null
  readonly inputUsdPerToken: number | null
  readonly cacheUsdPerToken: number | null
  readonly outputUsdPerToken: number | null
  /** Absent means that cache writes cost the same as other input. */
  readonly cacheWriteUsdPerToken?: number | null
}

export interface CallOptions {
  readonly signal?: AbortSignal
  /** The whole call, retries included, ends within this. */
  readonly timeoutSec?: number
  /** The caller's own deadline: no wait for a retry begins that would end after it. */
  readonly deadline?: Date
  /**
   * Called with each piece of text as it arrives; asks for a stream. Once it has been called, a failed call is not
   * retried.
   */
  readonly onText?: (text: string) => void
  /** The same for the model's reasoning, where the server reveals it; does not by itself ask for a stream. */
  readonly onReasoning?: (text: string) => void
}

/** A model to talk to: the only way any part of this program calls one. */
export interface ModelClient {
  /** As given, for example `openai/gpt-x`. */
  readonly model: string
  readonly facts: ModelFacts
  complete(request: ModelRequest, options?: CallOptions): Promise<ModelOutcome>
  /** The number of tokens in a conversation, or a careful estimate; `exact` says which. */
  countTokens(messages: readonly ChatMessage[]): { readonly tokens: number; readonly exact: boolean }
}

/** Where an engine can be reached. */
export interface Endpoint {
  /** At least one; several serve the same model. */
  readonly baseUrls: readonly string[]
  /** The name by which the server knows the model; null when no single model was chosen. */
  readonly modelName: string | null
  readonly apiKey: string | null
  /** Where metrics are, if anywhere: vLLM's `/metrics` of each server. */
  readonly metricsUrls: readonly string[]
}

export type Health =
  /**
   * `models`: what the server says it serves, if it does. `down`: what is wrong with those of several servers that do
   * not answer.
   */
  | { readonly healthy: true; readonly models?: readonly string[]; readonly down?: string }
  /** `code`: what a call would fail with, for example `AuthenticationError`. */
  /** `retryable`: it may answer later. */
  | { readonly healthy: false; readonly reason: string; readonly code?: string; readonly retryable?: boolean }

/** What serves a model, or reaches a served one. */
export interface Engine {
  readonly name: string
  readonly endpoint: Endpoint | null
  /** Asks the server, as often as its settings say, whether it is up and has the model; says what is wrong otherwise. */
  health(signal: AbortSignal): Promise<Health>
  /** Clients share the engine's connections, its rate limits and what it learned about the server. The account pays. */
  client(model: string, account?: Account): ModelClient
  /** For a stand-in: whether it has turns for a task with this instruction. A real model does not need this. */
  knows?(instruction: string): Promise<boolean>
}
