import { BoundaryError } from '../../../core/errors.ts'
import type { Replied } from './reply-store.ts'

export interface SpendingLimits {
  readonly maxCalls?: number | undefined
  readonly maxCostUsd?: number | undefined
}

/** The spending of one map over all its runs: a reply that an earlier run paid for counts when it is used again. */
export class Spending {
  /** Replies requested in this run. */
  calls = 0
  /** Replies that were already stored. */
  kept = 0
  tokens = 0
  costUsd = 0
  #underWay = 0

  constructor(readonly limits: SpendingLimits = {}) {}

  /** Throws when the budget is spent: the same run can resume with a higher limit. */
  admit(): void {
    const { maxCalls, maxCostUsd } = this.limits
    if (maxCalls !== undefined && this.calls + this.kept + this.#underWay >= maxCalls)
      throw new BoundaryError('model', `the budget of ${maxCalls} calls is used up`, { retryable: false })
    if (maxCostUsd !== undefined && this.costUsd >= maxCostUsd)
      throw new BoundaryError('model', `the budget of ${maxCostUsd} USD is used up`, { retryable: false })
    this.#underWay++
  }

  /** Marks a call that `admit` let through as ended. */
  settle(): void {
    this.#underWay--
  }

  add({ reply, wasKept }: Replied): void {
    if (wasKept) this.kept++
    else this.calls++
    this.tokens += reply.tokens
    this.costUsd += reply.costUsd ?? 0
  }

  /** For people. */
  toString(): string {
    const cost = this.costUsd > 0 ? `, ${this.costUsd.toFixed(4)} USD` : ''
    const kept = this.kept > 0 ? `, ${this.kept} replies were already cached` : ''
    return `${this.calls} calls, ${this.tokens} tokens${cost}${kept}`
  }
}
