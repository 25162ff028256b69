/** What may be spent; null means no limit. */
export interface BudgetLimits {
  readonly costUsd: number | null
  /** Input and output together. */
  readonly tokens: number | null
  readonly requests: number | null
  readonly wallSec: number | null
}

/** What has been spent so far. `costUsd` covers only calls with a known price. */
export interface Spent {
  readonly costUsd: number
  readonly tokens: number
  readonly requests: number
  readonly wallSec: number
}

/** Tokens of one call of a model. */
export interface TokenUsage {
  /** Includes tokens served from the cache. */
  readonly inputTokens: number
  readonly cacheTokens: number
  /** Includes reasoning. */
  readonly outputTokens: number
  /** Input tokens written to the cache, where that has its own price. */
  readonly cacheWriteTokens?: number
  /** True when the server reported no counts, so these are estimates. */
  readonly estimated?: boolean
}

/** What one call of a model used, however it ended. */
export interface Charge {
  readonly model: string
  /** Null when the call got no answer. */
  readonly usage: TokenUsage | null
  readonly costUsd: number | null
  /** How many requests were sent for it. */
  readonly requests: number
}

/** Who besides an agent may call a model for a trial. */
export type Asker = 'judge'

/** Who pays for calls: a trial's view of its job's budget and ledger. */
export interface Account {
  /** True when money is limited, so that a model without prices must not be called. */
  readonly needsPrices: boolean
  /** Counts a request that is about to be sent, or names the exhausted budget: then nothing may be sent. */
  admit(): string | null
  charge(charge: Charge): void
}
