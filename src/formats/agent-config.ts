import { z } from 'zod'
import { parseStrict } from './strict-config.ts'

/** A model configured as an agent in one small file. */
export interface AgentSettings {
  /** The agent's name in results; null if the file does not give one. */
  readonly agentName: string | null
  readonly model: string
  readonly apiBase: string | null
  readonly temperature: number | null
  readonly maxTokens: number | null
}

const schema = z.strictObject({
  agent_name: z.string().min(1).nullish(),
  model: z.string().min(1),
  api_base: z.url({ protocol: /^https?$/ }).nullish(),
  api_type: z.literal('openai').nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  max_tokens: z.number().int().positive().nullish(),
})

/** Whether a document is such a file and not a job file: it has a model at top level, which no job file does. */
export function isAgentConfig(document: unknown): boolean {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) return false
  const keys = Object.keys(document)
  return keys.some((key) => Object.hasOwn(own, key)) && !keys.some((key) => Object.hasOwn(ofJobs, key))
}

const own = { agent_name: 1, api_base: 1, api_type: 1, model: 1 }
const ofJobs = { agents: 1, datasets: 1, tasks: 1, environment: 1, orchestrator: 1, n_attempts: 1, jobs_dir: 1 }

/**
 * Reads `{agent_name, model, api_base, api_type, temperature, max_tokens}`; errors name unknown keys and wrong values.
 */
export function parseAgentConfig(document: unknown, path: string): AgentSettings {
  const hint = 'it takes agent_name, model, api_base, api_type ("openai"), temperature and max_tokens'
  const file = parseStrict(schema, document, path, hint)
  return {
    agentName: file.agent_name ?? null,
    model: file.model,
    apiBase: file.api_base ?? null,
    temperature: file.temperature ?? null,
    maxTokens: file.max_tokens ?? null,
  }
}
