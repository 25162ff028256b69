import { UserError } from '../../core/errors.ts'
import type { AgentConfig, JobConfig } from '../../core/job.ts'
import { makeEngine } from '../../plugins/make.ts'
import { engineOf } from '../job/configured.ts'
import type { ModelUse } from '../job/model-use.ts'

/** A preflight check that passed. A failing one is a UserError. */
export interface PreflightCheck {
  readonly name: 'server' | 'model' | 'context' | 'smoke trial'
  readonly says: string
}

export interface PreflightOptions {
  readonly use: ModelUse
  /** The minimum context length for the models, checked where it is known. */
  readonly minContextTokens?: number | undefined
  readonly signal: AbortSignal
}

/** Asks each model's server whether it is up and has the model, and how long its context is. */
export async function preflight(config: JobConfig, options: PreflightOptions): Promise<PreflightCheck[]> {
  const checks: PreflightCheck[] = []
  for (const agent of config.agents) checks.push(...(await checkAgent(agent, options)))
  return checks
}

async function checkAgent(
  agent: AgentConfig,
  { use, minContextTokens, signal }: PreflightOptions,
): Promise<PreflightCheck[]> {
  const found = await engineOf(agent)
  if (found === null || found.model === null)
    return [{ name: 'model', says: `agent ${agent.name ?? agent.importPath} does not use a served model` }]
  const engine = await makeEngine(found.name, { ...use.pace, ...found.options, ...use.address })
  const health = await engine.health(signal)
  if (!health.healthy) {
    const hint = 'check -m and --api-base, and that the server is running'
    throw new UserError(`model ${found.model}: ${health.reason}`, hint, health.retryable ? 3 : 2)
  }
  const listed = health.models ?? []
  const { contextTokens } = engine.client(found.model).facts
  if (minContextTokens !== undefined && contextTokens !== null && contextTokens < minContextTokens)
    throw new UserError(
      `model ${found.model}: expected a context of at least ${minContextTokens} tokens, got ${contextTokens}`,
      'serve it with a longer context, or lower --min-context',
    )
  return [
    { name: 'server', says: `${engine.endpoint?.baseUrls.join(', ') ?? engine.name} answers` },
    {
      name: 'model',
      says: listed.length === 0 ? `${found.model}, on a server that lists no models` : `${found.model} is served`,
    },
    { name: 'context', says: contextTokens === null ? 'of unknown length' : `${contextTokens} tokens` },
  ]
}
