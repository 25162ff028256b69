import type { Agent } from '../../core/agent.ts'
import type { Account } from '../../core/budget.ts'
import { UserError } from '../../core/errors.ts'
import type { AgentConfig, JobConfig } from '../../core/job.ts'
import type { Engine, ModelClient } from '../../core/model.ts'
import type { Task } from '../../core/task.ts'
import { exists } from '../../lib/files.ts'
import { makeEngine } from '../../plugins/make.ts'
import { ledgerFile } from '../../store/job-dir.ts'
import type { Sums } from '../../store/ledger.ts'
import { agentOf, engineOf } from './configured.ts'
import type { ModelUse } from './model-use.ts'
import type { JobModels, ReachedModel } from './open-models.ts'
import type { Notify } from './tasks-request.ts'

export interface ServedModels {
  /** Opens a job's ledger, so that the spending of earlier runs counts. */
  open(jobDir: string, nConcurrent: number): Promise<JobModels>
}

export interface ModelsToFind {
  /** How models may be used in this run. */
  readonly use: ModelUse
  /** Tasks whose requirements a model must meet (default: not checked). */
  readonly tasks?: readonly Task[]
  readonly notify: Notify
  readonly signal: AbortSignal
}

/** Makes the engines of a job's models and checks that each is up and has the model; any problem is a UserError. */
export async function findModels(config: JobConfig, asked: ModelsToFind): Promise<ServedModels> {
  const { use, tasks = [], notify, signal } = asked
  const reached = new Map<string, ReachedModel>()
  for (const agent of config.agents) {
    const key = keyOf(agent)
    if (reached.has(key)) continue
    const found = await engineOf(agent)
    if (found === null && (await agentOf(agent)).needsModel) throw withoutModel(agent)
    if (found === null) continue
    const engine = await makeEngine(found.name, { ...use.pace, ...found.options, ...use.address })
    const { model } = found
    if (model === null) throw withoutModel(agent)
    // Refuses a model with an unknown price that must be known, before the first trial calls it.
    engine.client(model, unasked(use))
    await checkHealth(engine, model, signal)
    await refuseIgnorant(engine, model, tasks, notify)
    refuseUnfit(await agentOf(agent), engine.client(model, unasked(use)), tasks, notify)
    reached.set(key, { engine, model })
  }
  const judge = use.judge && (await (await import('./open-judge.ts')).openJudge(use.judge, use.pace, signal))
  judge?.(unasked(use))
  const isFree = Object.values(use.budget).every((limit) => limit === null)
  if (reached.size === 0 && !judge && isFree) return { open: withoutModels }
  const { openModels } = await import('./open-models.ts')
  const modelOf = (agent: AgentConfig) => reached.get(keyOf(agent)) ?? null
  const served = { models: [...reached.values()], modelOf, judge }
  return { open: (jobDir, nConcurrent) => openModels({ ...served, jobDir, nConcurrent, use, notify }) }
}

/** An account for a client that is only made to see whether it can be. */
function unasked({ budget }: ModelUse): Account {
  return { needsPrices: budget.costUsd !== null, admit: () => null, charge: () => {} }
}

/** Agents with the same model settings share the server, its connections and its limits. */
function keyOf({ modelName, kwargs: { api_base, engine, model_info } }: AgentConfig): string {
  return JSON.stringify([modelName, api_base, engine, model_info])
}

async function checkHealth(engine: Engine, model: string, signal: AbortSignal): Promise<void> {
  const health = await engine.health(signal)
  if (health.healthy) return
  throw new UserError(
    `model ${model}: ${health.reason}`,
    'check --model and --api-base, and that the server is running',
  )
}

/**
 * Refuses a stand-in without turns for any of the tasks: it would give up on each, and every reward would be a
 * meaningless 0.
 */
async function refuseIgnorant(engine: Engine, model: string, tasks: readonly Task[], notify: Notify): Promise<void> {
  if (!engine.knows || tasks.length === 0) return
  const unknown: string[] = []
  for (const { name, instruction, steps } of tasks) {
    const texts = steps.length > 0 ? steps.map((step) => step.instruction) : [instruction]
    const known = await Promise.all(texts.map((text) => engine.knows?.(text)))
    if (!known.some(Boolean)) unknown.push(name)
  }
  if (unknown.length === tasks.length)
    throw new UserError(
      `model ${model} is a stand-in and has no turns for ${tasks.length === 1 ? 'the task' : `any of the ${tasks.length} tasks`}`,
      'pass the folder of tasks whose solutions it plays back with --engine-kwarg tasks=DIR, or a file of turns with --engine-kwarg script=FILE',
    )
  if (unknown.length > 0)
    notify(`the stand-in ${model} has no turns for ${unknown.length} of ${tasks.length} tasks and gives up on them`)
}

/** Refuses a model that fits none of the tasks; trials of tasks that are too much for it fail individually. */
function refuseUnfit(agent: Agent, client: ModelClient, tasks: readonly Task[], notify: Notify): void {
  const reasons = tasks.flatMap((task) => {
    try {
      agent.checkModel?.(client, task)
      return []
    } catch (error) {
      if (error instanceof UserError) return [error]
      throw error
    }
  })
  const [first] = reasons
  if (first && reasons.length === tasks.length) throw first
  if (first) notify(`${reasons.length} of ${tasks.length} tasks cannot run: ${first.message}`)
}

/** A job without models and without a time budget keeps no ledger, though an earlier run of it may have. */
async function withoutModels(jobDir: string): Promise<JobModels> {
  const judged = await judgedIn(jobDir)
  return { clientFor: () => null, mayStart: () => true, judgeSums: async () => judged, close: async () => {} }
}

function withoutModel({ name, importPath, modelName }: AgentConfig): UserError {
  const got = modelName === null ? 'none' : `${modelName} without the address of its server`
  return new UserError(
    `agent ${name ?? importPath ?? 'oracle'} needs a model, got ${got}`,
    'pass -m MODEL --api-base http://HOST:PORT/v1, or -m openai/..., anthropic/... or gemini/...',
  )
}

/** The judge's usage in a job that is not running; null if no judge was asked. */
export async function judgedIn(jobDir: string): Promise<Sums | null> {
  const hasLedger = await exists(ledgerFile(jobDir))
  return hasLedger ? (await import('../../store/ledger.ts')).judgeSums(jobDir) : null
}
