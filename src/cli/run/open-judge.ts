import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { Judge } from '../../core/judge.ts'
import { makeModelJudge } from '../../index.ts'
import { pluginContext } from '../../plugins.ts'
import { requestedEngine } from '../engine/engine-request.ts'
import type { ModelUse } from './model-options.ts'

/** Reaches the model that judges a job's results, and asks whether it is up; undefined when nobody named one. */
export async function openJudge({ judge, pace }: ModelUse, signal: AbortSignal): Promise<Judge | undefined> {
  if (!judge) return undefined
  const found = await requestedEngine(judge.engine, judge.model, pace)
  if (!found?.model)
    throw new UserError(
      `--judge-model ${judge.model}: expected a model of openai/, anthropic/ or gemini/, or an address`,
      'give --judge-api-base http://HOST:PORT/v1 beside it',
    )
  const health = await found.engine.health(signal)
  if (!health.healthy)
    throw new UserError(`--judge-model ${judge.model}: ${health.reason}`, 'check that its server runs')
  return makeModelJudge(found.engine.client(found.model), join(pluginContext().stateDir, 'judge'))
}
