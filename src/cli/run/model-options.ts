import type { Command, OptionValues } from '@commander-js/extra-typings'
import type { BudgetLimits } from '../../core/budget.ts'
import type { AdaptiveConcurrency } from '../../core/concurrency.ts'
import type { ModelSettings } from '../../core/stage.ts'
import { parseAdaptiveConcurrency } from '../../formats/adaptive-concurrency.ts'
import { type EngineRequest, joinAddresses } from '../engine/engine-request.ts'
import { wholeNumber } from '../output.ts'
import { type JudgeOptions, judgeSettingsOf, withJudge } from './judging.ts'
import { factor } from './numbers.ts'
import { parsedAssignments } from './values.ts'

const several = (text: string, before: string[] = []) => [...before, text]

/** Options that say which model, where it is, how fast it may be asked and what it may cost. */
export function withModel<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return withJudge(command)
    .option('-m, --model <name>', 'model for the agent; repeatable', several)
    .option(
      '--api-base <url>',
      'where the model is served, for example http://localhost:8000/v1 (vLLM and others); several addresses share the calls',
      joinAddresses,
    )
    .option('--engine <name>', "engine that calls the model (default: chosen by --api-base or the model's prefix)")
    .option('--engine-config <file>', 'an engine file, YAML or JSON')
    .option('--engine-kwarg <key=value>', 'option of the engine; repeatable', several)
    .option('--api-key-env <name>', 'variable that holds the key')
    .option('--rpm <n>', 'most requests per minute to each server', factor)
    .option('--tpm <n>', 'most tokens per minute, input and output together', factor)
    .option('--budget-usd <amount>', 'start no more trials once this much is spent', factor)
    .option('--budget-tokens <n>', 'the same for tokens, input and output', wholeNumber(1))
    .option('--budget-requests <n>', 'the same for requests to models', wholeNumber(1))
    .option('--budget-sec <seconds>', 'the same for time', factor)
    .option('--adaptive', 'adapt the number of concurrent trials to the load of the server')
    .option('--adaptive-min <n>', 'fewest concurrent trials (default: 1)', wholeNumber(1))
    .option('--adaptive-max <n>', 'most concurrent trials (default: 256)', wholeNumber(1))
    .option('--adaptive-interval <seconds>', 'how often to measure the load (default: 120)', factor)
    .option('--estimate [job]', 'run nothing: estimate time and cost, from typical numbers or from an earlier job')
}

export interface ModelOptions extends JudgeOptions {
  readonly apiBase?: string
  readonly engine?: string
  readonly engineConfig?: string
  readonly engineKwarg?: readonly string[]
  readonly apiKeyEnv?: string
  readonly rpm?: number
  readonly tpm?: number
  readonly budgetUsd?: number
  readonly budgetTokens?: number
  readonly budgetRequests?: number
  readonly budgetSec?: number
  readonly adaptive?: true
  readonly adaptiveMin?: number
  readonly adaptiveMax?: number
  readonly adaptiveInterval?: number
}

/** How a job may use its models: for this run only, and no part of what the job is. */
export interface ModelUse {
  readonly budget: BudgetLimits
  /** Options that every engine understands. */
  readonly pace: { readonly rpm?: number; readonly tpm?: number }
  readonly adaptive: AdaptiveConcurrency | null
  /** Where its models are, over what the job says. */
  readonly address?: { readonly api_base?: string; readonly api_key_env?: string } | undefined
  /** Who judges results of tasks that ask for it. */
  readonly judge?: ModelSettings | undefined
}

/** Nothing is limited. */
export const freeUse: ModelUse = {
  budget: { costUsd: null, tokens: null, requests: null, wallSec: null },
  pace: {},
  adaptive: null,
}

/** What the options say about how models may be used; `fromFile` is a job file's `adaptive_concurrency`. */
export function modelUseOf(options: ModelOptions, fromFile: unknown): ModelUse {
  const { rpm, tpm } = options
  return {
    budget: {
      costUsd: options.budgetUsd ?? null,
      tokens: options.budgetTokens ?? null,
      requests: options.budgetRequests ?? null,
      wallSec: options.budgetSec ?? null,
    },
    pace: { ...(rpm !== undefined && { rpm }), ...(tpm !== undefined && { tpm }) },
    adaptive: adaptiveOf(options, fromFile),
    judge: judgeSettingsOf(options),
  }
}

function adaptiveOf(options: ModelOptions, fromFile: unknown): AdaptiveConcurrency | null {
  const { adaptive, adaptiveMin, adaptiveMax, adaptiveInterval } = options
  const isAsked = adaptive ?? [adaptiveMin, adaptiveMax, adaptiveInterval].some((value) => value !== undefined)
  if (!isAsked && fromFile === undefined) return null
  const document = {
    ...(typeof fromFile === 'object' && fromFile),
    ...(isAsked && { enabled: true }),
    ...(adaptiveMin !== undefined && { min_limit: adaptiveMin }),
    ...(adaptiveMax !== undefined && { max_limit: adaptiveMax }),
    ...(adaptiveInterval !== undefined && { poll_interval_sec: adaptiveInterval }),
  }
  return parseAdaptiveConcurrency(document, 'adaptive_concurrency')
}

/** Where the options say a model is, beside its address; null when they say nothing. */
export function engineRequestOf(options: ModelOptions): EngineRequest | null {
  const { engine: name, engineConfig: config, apiKeyEnv: api_key_env, engineKwarg } = options
  const request: EngineRequest = {
    ...(name !== undefined && { name }),
    ...(config !== undefined && { config }),
    ...(api_key_env !== undefined && { api_key_env }),
    ...(engineKwarg !== undefined && { options: parsedAssignments('--engine-kwarg', engineKwarg) }),
  }
  return Object.keys(request).length > 0 ? request : null
}
