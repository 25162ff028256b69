import { UserError } from '../../core/errors.ts'
import type { ModelSettings, OpinionSettings } from '../../core/stage.ts'
import { parsedAssignments } from './assignments.ts'
import type { TasksRequest } from './tasks-request.ts'

export interface JudgeOptions {
  readonly judgeModel?: string | undefined
  readonly judgeApiBase?: string | undefined
  readonly judgeApiKeyEnv?: string | undefined
  readonly judgeEngineKwarg?: readonly string[] | undefined
}

/** The judge that the options name, if any. */
export function judgeSettingsOf(options: JudgeOptions): ModelSettings | undefined {
  const { judgeModel: model, judgeApiBase: apiBase, judgeApiKeyEnv: apiKeyEnv, judgeEngineKwarg: kwargs } = options
  if (model !== undefined)
    return { model, apiBase, apiKeyEnv, options: kwargs && parsedAssignments('--judge-engine-kwarg', kwargs) }
  const strays = { '--judge-api-base': apiBase, '--judge-api-key-env': apiKeyEnv, '--judge-engine-kwarg': kwargs }
  const stray = Object.entries(strays).find(([, value]) => value !== undefined)
  if (!stray) return undefined
  throw new UserError(`${stray[0]}: expected --judge-model with it, got none`, 'add --judge-model')
}

export interface OpinionOptions {
  readonly secondOpinion?: string | undefined
  readonly opinionTries?: number | undefined
  readonly opinionAgent?: string | undefined
  readonly opinionReviewer?: string | undefined
  readonly opinionApiBase?: string | undefined
  readonly opinionApiKeyEnv?: string | undefined
  readonly opinionEngineKwarg?: readonly string[] | undefined
}

/** The second opinion requested by the options, if any. */
export function opinionSettingsOf(options: OpinionOptions): OpinionSettings | undefined {
  const { secondOpinion, opinionTries: tries, opinionAgent: agent, opinionReviewer: reviewer } = options
  const { opinionApiBase: apiBase, opinionApiKeyEnv: apiKeyEnv, opinionEngineKwarg: kwargs } = options
  if (secondOpinion === undefined) {
    const strays = { tries, agent, reviewer, 'api-base': apiBase, 'api-key-env': apiKeyEnv, 'engine-kwarg': kwargs }
    const stray = Object.entries(strays).find(([, value]) => value !== undefined)
    if (!stray) return undefined
    throw new UserError(
      `--opinion-${stray[0]}: expected --second-opinion with it, got none`,
      'add --second-opinion MODEL',
    )
  }
  const at = { apiBase, apiKeyEnv, options: kwargs && parsedAssignments('--opinion-engine-kwarg', kwargs) }
  return {
    solver: { model: secondOpinion, ...at },
    ...(reviewer !== undefined && { reviewer: { model: reviewer, ...at } }),
    ...(agent !== undefined && { agent: { name: agent } }),
    tries,
  }
}

export interface ModelOptions extends JudgeOptions {
  readonly apiBase?: string | undefined
  readonly engine?: string | undefined
  readonly engineConfig?: string | undefined
  readonly engineKwarg?: readonly string[] | undefined
  readonly apiKeyEnv?: string | undefined
  readonly rpm?: number | undefined
  readonly tpm?: number | undefined
  readonly budgetUsd?: number | undefined
  readonly budgetTokens?: number | undefined
  readonly budgetRequests?: number | undefined
  readonly budgetSec?: number | undefined
  readonly adaptive?: boolean | undefined
  readonly adaptiveMin?: number | undefined
  readonly adaptiveMax?: number | undefined
  readonly adaptiveInterval?: number | undefined
}

/** The parts of a request that describe models, from the options. */
export function modelRequestOf(
  options: ModelOptions & { readonly model?: readonly string[] | undefined },
): TasksRequest {
  const { rpm, tpm, apiBase, engine, apiKeyEnv, engineKwarg, engineConfig } = options
  return {
    model: {
      names: options.model ?? [],
      ...{ engine, apiBase, apiKeyEnv },
      options: engineKwarg && parsedAssignments('--engine-kwarg', engineKwarg),
    },
    ...{ engineConfig, rpm, tpm },
    budget: {
      costUsd: options.budgetUsd,
      tokens: options.budgetTokens,
      requests: options.budgetRequests,
      wallSec: options.budgetSec,
    },
    adaptive: adaptiveOf(options),
    judge: judgeSettingsOf(options),
  }
}

function adaptiveOf(options: ModelOptions): TasksRequest['adaptive'] {
  const { adaptive, adaptiveMin: min, adaptiveMax: max, adaptiveInterval: intervalSec } = options
  const isAsked = adaptive ?? [min, max, intervalSec].some((value) => value !== undefined)
  return isAsked ? { min, max, intervalSec } : undefined
}
