/** What may be spent; null means no limit. */
export interface BudgetLimits {
  readonly costUsd: number | null
  /** Input and output together. */
  readonly tokens: number | null
  readonly requests: number | null
  readonly wallSec: number | null
}

/** What was spent so far. `costUsd` counts what has a known price. */
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
  /** Of the input, what was written to the cache, where that has a price of its own. */
  readonly cacheWriteTokens?: number
  /** True when the server counted nothing, so that these are guesses. */
  readonly estimated?: boolean
}

/** What one call of a model used, however it ended. */
export interface Charge {
  readonly model: string
  /** Null when the call came to no answer. */
  readonly usage: TokenUsage | null
  readonly costUsd: number | null
  /** How many requests were sent for it. */
  readonly requests: number
}

/** Who else than an agent asks on behalf of a trial. */
export type Asker = 'judge'

/** Who pays for calls: a trial's view of its job's budget and ledger. */
export interface Account {
  /** True when money is limited, so that a model without prices must not be called. */
  readonly needsPrices: boolean
  /** Counts one request that is about to be sent, or names the budget that is spent: then nothing may be sent. */
  admit(): string | null
  charge(charge: Charge): void
}
