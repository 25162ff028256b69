import { join } from 'node:path'
import type { Account } from '../../core/budget.ts'
import { UserError } from '../../core/errors.ts'
import type { Judge } from '../../core/judge.ts'
import type { ModelClient } from '../../core/model.ts'
import type { ModelSettings } from '../../core/stage.ts'
import type { Task } from '../../core/task.ts'
import { renderCount } from '../../lib/show-numbers.ts'
import { makeJudge, pluginContext } from '../../plugins/make.ts'
import { isModulePath } from '../../plugins/user-modules/import-path.ts'
import { isJudged } from '../../run/trial/judge-phase.ts'
import { makeModelJudge } from '../../stages/shared/judging/model-judge.ts'
import type { Sums } from '../../store/ledger.ts'
import { engineRequestFor, requestedEngine } from '../engine/engine-request.ts'

/** Makes a judge whose calls an account pays for; without one they are not counted. */
export type OpenedJudge = (account?: Account) => Judge

/** Reaches the model that judges results, and asks whether it is up; undefined when none was named. A user's module may take its place. */
export async function openJudge(
  settings: ModelSettings | undefined,
  pace: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<OpenedJudge | undefined> {
  if (!settings) return undefined
  if (isModulePath(settings.model)) {
    const judge = await makeJudge(settings.model, settings.options)
    return () => judge
  }
  const found = await requestedEngine(engineRequestFor(settings), settings.model, pace)
  if (!found?.model)
    throw new UserError(
      `--judge-model ${settings.model}: expected a model of openai/, anthropic/ or gemini/, or an address`,
      'give --judge-api-base http://HOST:PORT/v1 beside it',
    )
  const { engine, model } = found
  const health = await engine.health(signal)
  if (!health.healthy)
    throw new UserError(`--judge-model ${settings.model}: ${health.reason}`, 'check that its server runs')
  return (account) => judgeBy(engine.client(model, account))
}

/** A judge that says the same of the same work, whichever command asks. */
export function judgeBy(client: ModelClient, cacheDir = join(pluginContext().stateDir, 'judge')): Judge {
  return makeModelJudge(client, cacheDir)
}

/** Where a command line names the judge of its tasks. */
const flagHint = 'name one with --judge-model, and --judge-api-base for a server of your own'

/** What is said when no judge is named. */
export function unjudged(what: string, hint = flagHint): UserError {
  return new UserError(`${what} judged by a model, and none was given`, hint)
}

/** Where a recipe names the judge of its tasks. */
export const judgeHint = 'give the stage an option `judge`, for example { model: "openai/gpt-x" }'

/** Refuses tasks that only a judge can score when there is none, before anything is run or paid for. */
export async function refuseUnjudged(tasks: readonly Task[], judge: unknown, hint = flagHint): Promise<void> {
  if (judge !== undefined) return
  const asked = await Promise.all(tasks.map(isJudged))
  const [first, ...others] = tasks.filter((_, i) => asked[i])
  if (!first) return
  const more = others.length === 0 ? '' : ` and ${others.length} more of ${tasks.length} tasks`
  throw unjudged(`task ${first.name}${more} ${more === '' ? 'is' : 'are'}`, hint)
}

/** What judging came to, in words. */
export function renderJudge({ requests, inputTokens, outputTokens, costUsd, unpricedCalls }: Sums): string {
  const cost = unpricedCalls > 0 ? 'cost unknown' : `$${costUsd.toFixed(2)}`
  return `judge: ${requests} requests, ${renderCount(inputTokens)} in, ${renderCount(outputTokens)} out, ${cost}`
}
