import { join } from 'node:path'
import { stringify } from 'yaml'
import type { ModelClient } from '../../core/model.ts'
import { InferenceFailure, InputValidationError } from '../../generation/errors.ts'
import { writeAtomic } from '../../lib/files.ts'
import { makeBudget } from '../../run/budget.ts'
import { ledgerFile, openLedger } from '../../store/ledger.ts'
import { type EngineRequest, requestedEngine } from '../engine/engine-request.ts'
import { note } from '../output.ts'
import { engineRequestOf, type ModelOptions, modelUseOf } from '../run/model-options.ts'

/** A model that helps to make tasks, and the end of its books. */
export interface TaskModel {
  readonly client: ModelClient
  close(): Promise<void>
}

/** Reaches the model that the options name, asks whether it is up, and books what it costs where later runs find it. */
export async function openTaskModel(
  name: string,
  options: ModelOptions & { readonly model?: readonly string[] },
  workDir: string,
  signal: AbortSignal,
): Promise<TaskModel> {
  const use = modelUseOf(options, undefined)
  const base: EngineRequest = options.apiBase === undefined ? {} : { api_base: options.apiBase }
  const found = await requestedEngine({ ...base, ...engineRequestOf(options) }, options.model?.[0] ?? null, use.pace)
  if (!found?.model)
    throw new InputValidationError(
      `${name}: expected a model to make tasks with, got none`,
      'give -m openai/..., anthropic/... or gemini/..., or -m MODEL --api-base http://HOST:PORT/v1',
    )
  const health = await found.engine.health(signal)
  if (!health.healthy) throw new InferenceFailure(`model ${found.model}: ${health.reason}`)
  const ledger = await openLedger(ledgerFile(workDir))
  const onSpent = (budget: string) =>
    note(`the budget of ${budget} is spent: rows that need the model fail; the same command goes on with a larger one`)
  const budget = makeBudget({ limits: use.budget, spentBefore: ledger.spent(), book: ledger.add, onSpent })
  return { client: found.engine.client(found.model, budget.account(null)), close: () => ledger.close() }
}

/** An engine file that leads to a running server's endpoint file. */
export async function engineFileFor(endpointJson: string, workDir: string): Promise<string> {
  const path = join(workDir, 'endpoint-engine.yaml')
  const document = { engine: { type: 'vllm_local', vllm_local: { endpoint_json: endpointJson } } }
  await writeAtomic(path, stringify(document))
  return path
}
