import { join } from 'node:path'
import type { Account } from '../../core/budget.ts'
import { UserError } from '../../core/errors.ts'
import type { Judge } from '../../core/judge.ts'
import type { ModelClient } from '../../core/model.ts'
import type { ModelSettings } from '../../core/stage.ts'
import { makeJudge, pluginContext } from '../../plugins/make.ts'
import { isModulePath } from '../../plugins/user-modules/import-path.ts'
import { makeModelJudge } from '../../stages/shared/judging/model-judge.ts'
import { engineRequestFor, requestedEngine } from '../engine/engine-request.ts'

/** Makes a judge whose calls are charged to an account; without one they are not tracked. */
export type OpenedJudge = (account?: Account) => Judge

/** Connects to the judge model and checks that it is up; a function or a user's module may take its place. */
export async function openJudge(
  settings: ModelSettings | Judge,
  pace: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<OpenedJudge> {
  if (typeof settings === 'function') return () => settings
  if (isModulePath(settings.model)) {
    const judge = await makeJudge(settings.model, settings.options)
    return () => judge
  }
  const open = await openModel(settings, { model: '--judge-model', apiBase: '--judge-api-base' }, pace, signal)
  return (account) => judgeBy(open(account))
}

/** Connects to a model named by flags and checks that it is up. */
export async function openModel(
  settings: ModelSettings,
  flags: { readonly model: string; readonly apiBase: string },
  pace: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<(account?: Account) => ModelClient> {
  const found = await requestedEngine(engineRequestFor(settings), settings.model, pace)
  if (!found?.model)
    throw new UserError(
      `${flags.model} ${settings.model}: expected a model of openai/, anthropic/ or gemini/, or an address`,
      `add ${flags.apiBase} http://HOST:PORT/v1`,
    )
  const { engine, model } = found
  const health = await engine.health(signal)
  if (!health.healthy)
    throw new UserError(`${flags.model} ${settings.model}: ${health.reason}`, 'check that its server is running')
  return (account) => engine.client(model, account)
}

/** Makes a judge with a shared cache, so that the same work gets the same verdict in every command. */
export function judgeBy(client: ModelClient, cacheDir = join(pluginContext().stateDir, 'judge')): Judge {
  return makeModelJudge(client, cacheDir)
}
