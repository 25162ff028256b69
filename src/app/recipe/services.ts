import type { Account } from '../../core/budget.ts'
import { BoundaryError, UserError } from '../../core/errors.ts'
import type { ModelClient } from '../../core/model.ts'
import type { ModelSettings, StageServices } from '../../core/stage.ts'
import { engineRequestFor, requestedEngine } from '../engine/engine-request.ts'
import { checkTasksWith } from './check-tasks.ts'
import { replayRows } from './replay-rows.ts'
import { type RolloutAsk, rollOut } from './roll-out.ts'
import { pipelineFingerprint, runPipeline } from './run-pipeline.ts'

/** The services available to a recipe's stages, which work like the other commands. */
export function stageServices(signal: AbortSignal, asked: RolloutAsk): StageServices {
  return {
    model: (settings) => reachModel(settings, signal),
    rollOut: (request) => rollOut(request, asked),
    check: checkTasksWith(reachModel, asked),
    pipeline: runPipeline,
    pipelineFingerprint,
    replay: (sample) => replayRows(sample, asked),
  }
}

async function reachModel(settings: ModelSettings, signal: AbortSignal, account?: Account): Promise<ModelClient> {
  const { model } = settings
  const found = await requestedEngine(engineRequestFor(settings), model)
  if (!found?.model)
    throw new UserError(
      `expected a known engine for model ${JSON.stringify(model)}, found none`,
      'set `engine` or `apiBase` too',
    )
  const health = await found.engine.health(signal)
  if (!health.healthy) throw new BoundaryError('model', `model ${found.model}: ${health.reason}`)
  return found.engine.client(found.model, account)
}
