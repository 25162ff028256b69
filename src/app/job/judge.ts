import { UserError } from '../../core/errors.ts'
import type { Task } from '../../core/task.ts'
import { renderCount } from '../../lib/show-numbers.ts'
import { isJudged } from '../../run/trial/judge-phase.ts'
import type { Sums } from '../../store/ledger.ts'

/** Where a command line names the judge of its tasks. */
const flagHint = 'pass --judge-model, and --judge-api-base for your own server'

/** The error for a missing judge. */
export function unjudged(what: string, hint = flagHint): UserError {
  return new UserError(`${what} judged by a model, but no model was set`, hint)
}

/** Where a recipe names the judge of its tasks. */
export const judgeHint = 'set the option `judge` of the stage, for example { model: "openai/gpt-x" }'

/** Refuses judge-scored tasks without a judge, before anything is run or paid for. */
export async function refuseUnjudged(tasks: readonly Task[], judge: unknown, hint = flagHint): Promise<void> {
  if (judge !== undefined) return
  const asked = await Promise.all(tasks.map(isJudged))
  const [first, ...others] = tasks.filter((_, i) => asked[i])
  if (!first) return
  const more = others.length === 0 ? '' : ` and ${others.length} more of ${tasks.length} tasks`
  throw unjudged(`task ${first.name}${more} ${more === '' ? 'is' : 'are'}`, hint)
}

/** Describes what judging took. */
export function renderJudge({ requests, inputTokens, outputTokens, costUsd, unpricedCalls }: Sums): string {
  const cost = unpricedCalls > 0 ? 'cost unknown' : `$${costUsd.toFixed(2)}`
  return `judge: ${requests} requests, ${renderCount(inputTokens)} in, ${renderCount(outputTokens)} out, ${cost}`
}
