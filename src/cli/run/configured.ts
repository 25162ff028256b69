import type { Agent } from '../../core/agent.ts'
import { UserError } from '../../core/errors.ts'
import type { AgentConfig, EnvironmentConfig } from '../../core/job.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import { makeAgent, makeProvider } from '../../plugins.ts'

/** The agent a job's settings name. */
export async function agentOf({ name, importPath, kwargs }: AgentConfig): Promise<Agent> {
  if (name !== null) return makeAgent(name, kwargs)
  throw new UserError(
    `expected the name of an agent, got the import path ${importPath}`,
    'agents of other programs cannot be run yet; give one by its name with -a',
  )
}

/** The kind of sandbox a job's settings name. */
export async function providerOf({ type, importPath, kwargs }: EnvironmentConfig): Promise<SandboxProvider> {
  if (type !== null) return makeProvider(type, kwargs)
  throw new UserError(
    `expected the name of a sandbox, got the import path ${importPath}`,
    'sandboxes of other programs cannot be used yet; give one by its name with -e',
  )
}
