import type { AgentConfig } from '../../core/job.ts'
import type { AgentSettings } from '../../formats/agent-config.ts'
import { defaultAgent } from '../../formats/harbor-job/job-config.ts'
import { currentAgentOptions } from '../../formats/harbor-job/read-config.ts'
import { type EngineRequest, findEngine } from '../engine/engine-request.ts'
import { engineKey } from './configured.ts'
import { requestedModel, type TasksRequest } from './tasks-request.ts'

type Options = Readonly<Record<string, unknown>>

/** What a request and its files say about the agent that uses a model. */
export interface AgentDefaults {
  /** Used if no agent is named. */
  readonly agent: AgentConfig
  /** Options for every agent; those of the request override them. */
  readonly kwargs: Options
  /** The model in an engine file; null if there is none. */
  readonly model: string | null
}

/** The default agent for a model. */
const usualAgent = 'terminus-2'

/** Collects what a request says about a model besides its name. */
export async function agentDefaults(request: TasksRequest): Promise<AgentDefaults> {
  const { names, apiBase } = requestedModel(request)
  const engine = engineRequestOf(request)
  const file = request.engineConfig === undefined ? null : await engineFile(request.engineConfig)
  const found = engine?.config === undefined ? null : await findEngine(engine, names[0] ?? null)
  // The default agent without a model plays each task's solution: its score must not pass for that of a model.
  const hasModel = names.length > 0 || engine !== null || apiBase !== undefined
  return {
    agent: hasModel ? { ...defaultAgent(), name: usualAgent } : defaultAgent(),
    kwargs: {
      ...currentAgentOptions(file?.extra_agent_kwargs ?? {}),
      ...(apiBase !== undefined && { api_base: apiBase }),
      ...(engine !== null && { [engineKey]: engine }),
    },
    model: found?.model ?? null,
  }
}

/** Loads the reader only if a file is named. */
async function engineFile(path: string) {
  return (await import('../../formats/engine-yaml.ts')).loadEngineFile(path)
}

/** Where a request says its model is, apart from the address; null if it says nothing. */
export function engineRequestOf(request: TasksRequest): EngineRequest | null {
  const { engine: name, apiKeyEnv: api_key_env, options } = requestedModel(request)
  const config = request.engineConfig
  const engine: EngineRequest = {
    ...(name !== undefined && { name }),
    ...(config !== undefined && { config }),
    ...(api_key_env !== undefined && { api_key_env }),
    ...(options !== undefined && { options: { ...options } }),
  }
  return Object.keys(engine).length > 0 ? engine : null
}

/** The agent of a file that configures a model as an agent. */
export function agentOfModel({ model, apiBase, temperature, maxTokens }: AgentSettings): AgentConfig {
  const kwargs = {
    ...(apiBase !== null && { api_base: apiBase }),
    ...(temperature !== null && { temperature }),
    ...(maxTokens !== null && { llm_kwargs: { max_tokens: maxTokens } }),
  }
  return { ...defaultAgent(), name: usualAgent, modelName: model, kwargs }
}

/**
 * What an agent of the request takes over from a file that configures a model. The file's other options belong to the
 * agent it configures.
 */
export function modelOf({ modelName, kwargs: { api_base } }: AgentConfig): Pick<AgentConfig, 'modelName' | 'kwargs'> {
  return { modelName, kwargs: typeof api_base === 'string' ? { api_base } : {} }
}
