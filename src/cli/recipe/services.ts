import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BoundaryError, UserError } from '../../core/errors.ts'
import type { ModelClient } from '../../core/model.ts'
import type { CheckedTask, ModelSettings, StageServices } from '../../core/stage.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { makeProvider } from '../../plugins.ts'
import { engineRequestFor, requestedEngine } from '../engine/engine-request.ts'
import { makeJudge } from '../generate/judge.ts'
import { judgeBy, judgeHint, refuseUnjudged } from '../run/judging.ts'
import { rollOut } from './roll-out.ts'
import { pipelineFingerprint, runPipeline } from './run-pipeline.ts'

/** What stages of a recipe may ask for, done the way the other commands do it. */
export function stageServices(signal: AbortSignal): StageServices {
  return {
    model: (settings) => reachModel(settings, signal),
    rollOut,
    check,
    pipeline: runPipeline,
    pipelineFingerprint,
  }
}

async function reachModel(settings: ModelSettings, signal: AbortSignal) {
  const { model } = settings
  const found = await requestedEngine(engineRequestFor(settings), model)
  if (!found?.model)
    throw new UserError(`no engine is known for model ${JSON.stringify(model)}`, 'give `engine` or `apiBase` beside it')
  const health = await found.engine.health(signal)
  if (!health.healthy) throw new BoundaryError('model', `model ${found.model}: ${health.reason}`)
  const client: ModelClient = found.engine.client(found.model)
  return client
}

const check: StageServices['check'] = async function* (dirs, { sandbox, concurrency, judge: settings, signal }) {
  const options = sandbox.options ?? {}
  const provider = await makeProvider(sandbox.name, options)
  await provider.preflight()
  const judge = settings && judgeBy(await reachModel(settings, signal))
  const workDir = await mkdtemp(join(tmpdir(), 'ot-agent-check-'))
  const prove = await makeJudge({ provider, sandboxOptions: options, repeats: 2, judge, workDir, signal })
  try {
    yield* mapInOrder(dirs, concurrency, async (dir): Promise<CheckedTask> => {
      const task = await loadTask(dir)
      await refuseUnjudged([task], judge, judgeHint)
      const { verdict, reason, detail } = await prove(task)
      return verdict === 'accepted' ? { dir, reason: null } : { dir, reason, detail }
    })
  } finally {
    await rm(workDir, { recursive: true, force: true })
  }
}
