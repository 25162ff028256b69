import { BoundaryError } from '../../../core/errors.ts'
import type { Replied } from './reply-store.ts'

export interface SpendingLimits {
  readonly maxCalls?: number | undefined
  readonly maxCostUsd?: number | undefined
}

/** The books of one map over all its runs: what was paid in an earlier run counts when its reply is used again. */
export class Spending {
  /** Replies that were asked for now. */
  calls = 0
  /** Replies that were there already. */
  kept = 0
  tokens = 0
  costUsd = 0
  #underWay = 0

  constructor(readonly limits: SpendingLimits = {}) {}

  /** Throws when nothing more may be asked: the same run goes on with a larger limit. */
  admit(): void {
    const { maxCalls, maxCostUsd } = this.limits
    if (maxCalls !== undefined && this.calls + this.kept + this.#underWay >= maxCalls)
      throw new BoundaryError('model', `the budget of ${maxCalls} calls is used up`, { retryable: false })
    if (maxCostUsd !== undefined && this.costUsd >= maxCostUsd)
      throw new BoundaryError('model', `the budget of ${maxCostUsd} USD is used up`, { retryable: false })
    this.#underWay++
  }

  /** Takes note of a call that `admit` let through and that came to an end. */
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
