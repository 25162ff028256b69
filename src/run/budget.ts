import type { Account, Asker, BudgetLimits, Charge, Spent } from '../core/budget.ts'

/** The budget of a job, shared by all its trials. */
export interface Budget {
  /**
   * The first limit that is used up, in words such as `5 USD`; null while there is room. Ask before starting a trial.
   */
  spentUp(): string | null
  spent(): Spent
  /**
   * The account that pays for one trial's calls, or, with null, for calls outside any trial; a judge's calls are booked
   * as such.
   */
  account(trial: string | null, asker?: Asker): Account
}

export interface BudgetSettings {
  readonly limits: BudgetLimits
  /** What earlier runs of the job spent, according to its ledger. */
  readonly spentBefore: Spent
  /** Called with every charge, so that the ledger can record it. */
  readonly book?: (trial: string | null, charge: Charge, asker?: Asker) => void
  /** Called once, when the first limit is used up: the job should start nothing new. */
  readonly onSpent?: (budget: string) => void
  readonly now?: () => number
}

/**
 * Makes a budget. Once a limit is reached, nothing more is sent; calls in flight finish and are counted, so money and
 * tokens can exceed their limits by that much. Requests never do.
 */
export function makeBudget({ limits, spentBefore, book, onSpent, now = Date.now }: BudgetSettings): Budget {
  const startedAt = now()
  let { costUsd, tokens, requests } = spentBefore
  let told = false
  const spent = (): Spent => ({ costUsd, tokens, requests, wallSec: spentBefore.wallSec + (now() - startedAt) / 1000 })
  const spentUp = (): string | null => {
    const budget = firstReached(spent(), limits)
    if (budget !== null && !told) {
      told = true
      onSpent?.(budget)
    }
    return budget
  }
  return {
    spentUp,
    spent,
    account: (trial, asker) => ({
      needsPrices: limits.costUsd !== null,
      admit() {
        const budget = spentUp()
        if (budget === null) requests++
        return budget
      },
      charge(charge) {
        costUsd += charge.costUsd ?? 0
        tokens += charge.usage ? charge.usage.inputTokens + charge.usage.outputTokens : 0
        book?.(trial, charge, asker)
        spentUp()
      },
    }),
  }
}

function firstReached(spent: Spent, limits: BudgetLimits): string | null {
  const reached = (['costUsd', 'tokens', 'requests', 'wallSec'] as const).find((key) => {
    const limit = limits[key]
    return limit !== null && spent[key] >= limit
  })
  return reached === undefined ? null : `${limits[reached]} ${units[reached]}`
}

const units: Readonly<Record<keyof BudgetLimits, string>> = {
  costUsd: 'USD',
  tokens: 'tokens',
  requests: 'requests',
  wallSec: 's',
}
