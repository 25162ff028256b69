import type { Agent } from '../../core/agent.ts'
import { UserError } from '../../core/errors.ts'
import type { Engine } from '../../core/model.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import { makeAgent, makeProvider } from '../../plugins/make.ts'
import { registry } from '../../plugins/table.ts'
import { makeImportedAgent } from '../../plugins/user-modules/make-imported.ts'
import { type Check, checkCompletion, checkConnection } from '../engine/check-model.ts'
import { requestedEngine } from '../engine/engine-request.ts'
import { askConsent, type Confirm } from '../job/consent.ts'
import { checkTrial } from './check-trial.ts'

/** Which agent to try, and with what. */
export interface AgentTestRequest {
  /** A name or a file path. */
  readonly agent: string
  readonly options?: Readonly<Record<string, unknown>>
  readonly model?: string | undefined
  readonly apiBase?: string | undefined
  /** The variable that holds the server's key. */
  readonly apiKeyEnv?: string | undefined
  /** A task for the agent to work on. */
  readonly task?: string | undefined
  /** The kind of sandbox for the task. */
  readonly sandbox: string
  /** Variables of this machine that the task may use. */
  readonly passEnv: readonly string[]
  /** The folder in which to keep the trial's files. */
  readonly keep?: string | undefined
}

/** A loaded agent and its remaining checks. */
export interface AgentTest {
  readonly agent: Agent
  /**
   * Tries the server, the model and the task. Each check needs the previous one, so the first failure is the last
   * check.
   */
  checks(signal: AbortSignal): AsyncGenerator<Check>
}

/** Resolves everything named in the request and rejects what cannot work, before trying anything. */
export async function prepareAgentTest(request: AgentTestRequest, confirm: Confirm | undefined): Promise<AgentTest> {
  const agent = await agentAt(request.agent, request.options ?? {})
  const { model = null, keep = null } = request
  const engine = await engineFor(agent, request)
  const place = request.task === undefined ? null : await placeFor(request.task, request, confirm)
  if (place) agent.check?.(place.task)
  async function* checks(signal: AbortSignal) {
    if (engine !== null && model !== null) {
      const connection = await checkConnection(engine, signal)
      yield connection
      if (!connection.ok) return
      const completion = await checkCompletion(engine, model, signal)
      yield completion
      if (!completion.ok) return
    }
    if (place) yield await checkTrial({ ...place, agent, engine, model, keep }, signal)
  }
  return { agent, checks }
}

async function placeFor(taskDir: string, { sandbox, passEnv }: AgentTestRequest, confirm: Confirm | undefined) {
  const task = await loadTask(taskDir)
  await askConsent([task], { passEnv }, confirm)
  const provider = await makeProvider(sandbox)
  await provider.preflight()
  return { task, provider }
}

async function agentAt(path: string, options: Readonly<Record<string, unknown>>): Promise<Agent> {
  return Object.hasOwn(registry.agents, path) ? makeAgent(path, options) : makeImportedAgent(path, options)
}

/** The engine that would serve the agent; null if it has no model and needs none. */
async function engineFor(agent: Agent, { model, apiBase, apiKeyEnv }: AgentTestRequest): Promise<Engine | null> {
  if (model === undefined && apiBase === undefined && !agent.needsModel) return null
  const where = {
    ...(apiBase !== undefined && { api_base: apiBase }),
    ...(apiKeyEnv !== undefined && { api_key_env: apiKeyEnv }),
  }
  // Checks once only; callers that want to wait for a server can repeat the check.
  const made = model === undefined ? null : await requestedEngine(where, model, { healthcheck_max_attempts: 1 })
  if (made !== null) return made.engine
  const got = model === undefined ? 'none' : `${model} without the address of its server`
  throw new UserError(
    `expected a model for ${agent.name}, got ${got}`,
    'for example: -m my-model --api-base http://localhost:8000/v1',
  )
}
