import type { AgentSettings } from '../../formats/agent-config.ts'
import { loadEngineFile } from '../../formats/engine-yaml.ts'
import { findEngine } from '../engine/engine-request.ts'
import { engineKey } from './agent-engine.ts'
import { engineRequestOf } from './model-options.ts'
import type { RunOptions } from './options.ts'

type Document = Record<string, unknown>

/** What options and files about a model say about the agent that uses it. */
export interface AgentDefaults {
  /** Used when no agent is named. */
  readonly agent: Document
  /** Options for every agent, below those given by hand. */
  readonly kwargs: Document
  /** Named by an engine file; null when it names none. */
  readonly model: string | null
  /** What an agent that is named on the command line takes over from one that a file sets up. */
  readonly ofModel: (listed: readonly Document[]) => Document
}

/** The agent that drives a model when none is named. */
const usualAgent = 'terminus-2'

/** Reads what is said about a model beside its name. */
export async function agentDefaults(options: RunOptions, isOneModel: boolean): Promise<AgentDefaults> {
  const request = engineRequestOf(options)
  const file = options.engineConfig === undefined ? null : await loadEngineFile(options.engineConfig)
  const found = request?.config === undefined ? null : await findEngine(request, options.model?.[0] ?? null)
  return {
    agent: request !== null || options.apiBase !== undefined ? { name: usualAgent } : {},
    kwargs: {
      ...file?.extra_agent_kwargs,
      ...(options.apiBase !== undefined && { api_base: options.apiBase }),
      ...(request !== null && { [engineKey]: request }),
    },
    model: found?.model ?? null,
    ofModel: ([first]) =>
      isOneModel && first ? { model_name: first.model_name, kwargs: addressIn(first.kwargs) } : {},
  }
}

/** A job with one agent, of a file that sets up a model as an agent. */
export function oneModel(settings: AgentSettings): Document {
  const { model, apiBase, temperature, maxTokens } = settings
  const kwargs = {
    ...(apiBase !== null && { api_base: apiBase }),
    ...(temperature !== null && { temperature }),
    ...(maxTokens !== null && { llm_kwargs: { max_tokens: maxTokens } }),
  }
  return { agents: [{ name: usualAgent, model_name: model, kwargs }] }
}

/** How warm a model is and how much it says is an option of the agent that was set up, and perhaps of no other. */
function addressIn(kwargs: unknown): Document {
  const { api_base } = Object(kwargs)
  return typeof api_base === 'string' ? { api_base } : {}
}
