import type { BudgetLimits } from '../../core/budget.ts'
import type { AdaptiveConcurrency } from '../../core/concurrency.ts'
import type { Judge } from '../../core/judge.ts'
import type { ModelSettings } from '../../core/stage.ts'
import { parseAdaptiveConcurrency } from '../../formats/adaptive-concurrency.ts'
import type { TasksRequest } from './tasks-request.ts'

/** How a job may use its models in this run; not part of the job itself. */
export interface ModelUse {
  readonly budget: BudgetLimits
  /** Options that every engine understands. */
  readonly pace: { readonly rpm?: number; readonly tpm?: number }
  readonly adaptive: AdaptiveConcurrency | null
  /** Overrides the address of its models. */
  readonly address?: { readonly api_base?: string; readonly api_key_env?: string } | undefined
  /** The judge for tasks that need one: a model, or a function in its place. */
  readonly judge?: ModelSettings | Judge | undefined
}

/** No limits. */
export const unlimitedUse: ModelUse = {
  budget: { costUsd: null, tokens: null, requests: null, wallSec: null },
  pace: {},
  adaptive: null,
}

/** How a request allows models to be used; `fromFile` is a job file's `adaptive_concurrency`. */
export function modelUseOf(request: TasksRequest, fromFile?: unknown): ModelUse {
  const { rpm, tpm, budget, judge } = request
  return {
    budget: {
      costUsd: budget?.costUsd ?? null,
      tokens: budget?.tokens ?? null,
      requests: budget?.requests ?? null,
      wallSec: budget?.wallSec ?? null,
    },
    pace: { ...(rpm !== undefined && { rpm }), ...(tpm !== undefined && { tpm }) },
    adaptive: adaptiveOf(request.adaptive, fromFile),
    judge,
    address: request.address && addressOf(request.address),
  }
}

function addressOf({ apiBase, apiKeyEnv }: NonNullable<TasksRequest['address']>): ModelUse['address'] {
  return {
    ...(apiBase !== undefined && { api_base: apiBase }),
    ...(apiKeyEnv !== undefined && { api_key_env: apiKeyEnv }),
  }
}

function adaptiveOf(asked: TasksRequest['adaptive'], fromFile: unknown): AdaptiveConcurrency | null {
  const isAsked = asked !== undefined && asked !== false
  if (!isAsked && fromFile === undefined) return null
  const { min, max, intervalSec } = typeof asked === 'object' ? asked : {}
  const document = {
    ...(typeof fromFile === 'object' && fromFile),
    ...(isAsked && { enabled: true }),
    ...(min !== undefined && { min_limit: min }),
    ...(max !== undefined && { max_limit: max }),
    ...(intervalSec !== undefined && { poll_interval_sec: intervalSec }),
  }
  return parseAdaptiveConcurrency(document, 'adaptive_concurrency')
}
