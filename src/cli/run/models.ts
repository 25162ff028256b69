import type { BudgetLimits } from '../../core/budget.ts'
import { UserError } from '../../core/errors.ts'
import type { AgentConfig, JobConfig } from '../../core/job.ts'
import type { Engine, ModelClient } from '../../core/model.ts'
import { makeEngine } from '../../plugins.ts'
import { makeBudget } from '../../run/budget.ts'
import { ledgerFile, openLedger } from '../../store/ledger.ts'
import { note } from '../output.ts'
import { agentOf } from './configured.ts'

/** The models of a job's agents, reached and paid for. */
export interface JobModels {
  /** A client for one trial of an agent; null for an agent without a model that is served anywhere. */
  clientFor(agent: AgentConfig, trial: string): ModelClient | null
  /** False once a budget is spent: what runs may end, nothing new starts. */
  mayStart(): boolean
  close(): Promise<void>
}

export interface ServedModels {
  /** Opens the ledger of a job, so that what earlier runs spent counts. */
  open(jobDir: string, limits: BudgetLimits): Promise<JobModels>
}

/** Which engine a model's first word stands for. */
const prefixes: readonly (readonly [string, string])[] = [
  ['openai/', 'openai'],
  ['anthropic/', 'anthropic'],
  ['gemini/', 'gemini'],
]

/** Makes the engines of a job's models and asks each whether it is up and has the model; what is wrong is a UserError. */
export async function findModels(config: JobConfig, signal: AbortSignal): Promise<ServedModels> {
  const engines = new Map<AgentConfig, Engine>()
  for (const agent of config.agents) {
    const engine = await engineOf(agent)
    if (engine === null && (await agentOf(agent)).needsModel) throw withoutModel(agent)
    if (engine === null) continue
    engines.set(agent, engine)
    const health = await engine.health(signal)
    if (!health.healthy)
      throw new UserError(
        `model ${agent.modelName}: ${health.reason}`,
        'check --model and --api-base, and that the server runs',
      )
  }
  const engineLike = (agent: AgentConfig) =>
    [...engines].find(([known]) => known.modelName === agent.modelName && apiBaseOf(known) === apiBaseOf(agent))?.[1]
  const open = async (jobDir: string, limits: BudgetLimits) => {
    const unneeded = engines.size === 0 && Object.values(limits).every((limit) => limit === null)
    return unneeded ? noModels : openModels(jobDir, limits, engineLike)
  }
  return { open }
}

/** A job that talks to nobody and may take all the time it wants keeps no books. */
const noModels: JobModels = { clientFor: () => null, mayStart: () => true, close: async () => {} }

async function openModels(
  jobDir: string,
  limits: BudgetLimits,
  engineLike: (agent: AgentConfig) => Engine | undefined,
): Promise<JobModels> {
  const ledger = await openLedger(ledgerFile(jobDir))
  const onSpent = (budget: string) =>
    note(
      `the budget of ${budget} is spent: running trials end, no new one starts; the same command goes on with a larger budget`,
    )
  const budget = makeBudget({ limits, spentBefore: ledger.spent(), book: ledger.add, onSpent })
  return {
    clientFor: (agent, trial) => {
      const engine = engineLike(agent)
      return engine === undefined || agent.modelName === null
        ? null
        : engine.client(agent.modelName, budget.account(trial))
    },
    mayStart: () => budget.spentUp() === null,
    close: () => ledger.close(),
  }
}

/** Null when the agent has no model, or one that nobody says where to find: such an agent may reach it by itself. */
async function engineOf({ modelName, kwargs, ...agent }: AgentConfig): Promise<Engine | null> {
  if (modelName === null) return null
  const modelInfo =
    kwargs.model_info === undefined || kwargs.model_info === null ? {} : { model_info: kwargs.model_info }
  const apiBase = apiBaseOf({ modelName, kwargs, ...agent })
  if (apiBase !== null) return makeEngine('openai-compatible', { api_base: apiBase, model: modelName, ...modelInfo })
  const name = prefixes.find(([prefix]) => modelName.startsWith(prefix))?.[1]
  return name === undefined ? null : makeEngine(name, { model: modelName, ...modelInfo })
}

function withoutModel({ name, importPath, modelName }: AgentConfig): UserError {
  const got = modelName === null ? 'none' : `${modelName}, with nothing that says where it is served`
  return new UserError(
    `agent ${name ?? importPath} needs a model, got ${got}`,
    'give -m MODEL --api-base http://HOST:PORT/v1, or -m openai/..., anthropic/... or gemini/...',
  )
}

function apiBaseOf({ kwargs }: AgentConfig): string | null {
  return typeof kwargs.api_base === 'string' ? kwargs.api_base : null
}
