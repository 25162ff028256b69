import { join } from 'node:path'
import { BoundaryError, UserError } from '../../core/errors.ts'
import type { Judge } from '../../core/judge.ts'
import type { ModelClient } from '../../core/model.ts'
import { writeAtomic } from '../../lib/files.ts'
import { renderYaml } from '../../lib/render-yaml.ts'
import { makeBudget } from '../../run/budget.ts'
import { ledgerFile } from '../../store/job-dir.ts'
import { openLedger } from '../../store/ledger.ts'
import { type EngineRequest, requestedEngine } from '../engine/engine-request.ts'
import { engineRequestOf } from '../job/agent-defaults.ts'
import { type ModelOptions, modelRequestOf } from '../job/model-flags.ts'
import { type ModelUse, modelUseOf } from '../job/model-use.ts'
import { judgeBy, openJudge } from '../job/open-judge.ts'
import type { Notify } from '../job/tasks-request.ts'

/** The models that help make tasks, and a way to close their ledgers. */
export interface TaskModels {
  /** Null for a pipeline that uses no model. */
  readonly client: ModelClient | null
  /** The judge for proving tasks that need one: the one named, else the pipeline's own model. */
  readonly judge: Judge | undefined
  close(): Promise<void>
}

type Options = ModelOptions & { readonly model?: readonly string[] | undefined }

/**
 * Connects to the models in the options, checks that they are up, and records their costs where later runs find them.
 */
export async function openTaskModels(
  pipeline: { readonly name: string; readonly needsModel: boolean },
  options: Options,
  { workDir, notify, signal }: { readonly workDir: string; readonly notify: Notify; readonly signal: AbortSignal },
): Promise<TaskModels> {
  const use = modelUseOf(modelRequestOf(options))
  const judge = use.judge && (await openJudge(use.judge, use.pace, signal))
  const found = pipeline.needsModel ? await reachModel(pipeline.name, options, use, signal) : null
  if (!found && !judge) return { client: null, judge: undefined, close: async () => {} }
  const ledger = await openLedger(ledgerFile(workDir))
  const onSpent = (budget: string) =>
    notify(
      `the budget of ${budget} is used up: rows that need the model fail; run the same command with a larger budget to resume`,
    )
  const budget = makeBudget({ limits: use.budget, spentBefore: ledger.spent(), book: ledger.add, onSpent })
  const ofJudge = budget.account(null, 'judge')
  return {
    client: found?.engine.client(found.model, budget.account(null)) ?? null,
    judge:
      judge?.(ofJudge) ??
      (found ? judgeBy(found.engine.client(found.model, ofJudge), join(workDir, 'cache')) : undefined),
    close: () => ledger.close(),
  }
}

async function reachModel(name: string, options: Options, use: ModelUse, signal: AbortSignal) {
  const base: EngineRequest = options.apiBase === undefined ? {} : { api_base: options.apiBase }
  const found = await requestedEngine(
    { ...base, ...engineRequestOf(modelRequestOf(options)) },
    options.model?.[0] ?? null,
    use.pace,
  )
  if (!found?.model)
    throw new UserError(
      `${name}: expected a model to make tasks with, got none`,
      'pass -m openai/..., anthropic/... or gemini/..., or -m MODEL --api-base http://HOST:PORT/v1',
    )
  const health = await found.engine.health(signal)
  if (!health.healthy)
    throw new BoundaryError('model', `model ${found.model}: ${health.reason}`, { code: 'InferenceFailure' })
  return { engine: found.engine, model: found.model }
}

/** Writes an engine file that refers to a running server's endpoint file. */
export async function engineFileFor(endpointJson: string, workDir: string): Promise<string> {
  const path = join(workDir, 'endpoint-engine.yaml')
  const document = { engine: { type: 'vllm_local', vllm_local: { endpoint_json: endpointJson } } }
  await writeAtomic(path, renderYaml(document))
  return path
}
