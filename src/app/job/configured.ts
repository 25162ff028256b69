import type { Agent } from '../../core/agent.ts'
import { UserError } from '../../core/errors.ts'
import type { AgentConfig, EnvironmentConfig, JobConfig } from '../../core/job.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import { makeAgent, makeProvider } from '../../plugins/make.ts'
import { engineModuleOf, withoutEngine } from './agent-engine.ts'

/** Loaded only when a user's module is named. The first call comes before any trial. */
const userModules = () => import('../../plugins/user-modules/make-imported.ts')

/** The agent a job's settings name. */
export async function agentOf({ name, importPath, kwargs }: AgentConfig): Promise<Agent> {
  const own = withoutEngine(kwargs)
  if (name !== null) return makeAgent(name, own)
  if (importPath !== null) return (await userModules()).makeImportedAgent(importPath, own)
  throw new UserError('expected an agent, got none', 'give one with -a NAME or --agent-import-path FILE')
}

/** The kind of sandbox a job's settings name. */
export async function providerOf({ type, importPath, kwargs }: EnvironmentConfig): Promise<SandboxProvider> {
  if (type !== null) return makeProvider(type, kwargs)
  if (importPath !== null) return (await userModules()).makeImportedProvider(importPath, kwargs)
  throw new UserError('expected a kind of sandbox, got none', 'give one with -e NAME or --environment-import-path FILE')
}

/** The digests of user code that a job runs, by import path, and of what its agents are made from: with others it is another job. */
export async function importDigests({ agents, environment }: JobConfig): Promise<Readonly<Record<string, string>>> {
  const ofAgents = agents.map(({ name, importPath }) => (name === null ? importPath : null))
  const ofSandbox = environment.type === null ? environment.importPath : null
  const paths = [...ofAgents, ...agents.map(engineModuleOf), ofSandbox].filter((path) => path !== null)
  const pairs = paths.map(async (path) => [path, (await (await userModules()).loadImported(path)).digest] as const)
  const named = await Promise.all(agents.filter(({ name }) => name !== null).map(agentOf))
  const made = named.flatMap(({ digests = {} }) => Object.entries(digests))
  return Object.fromEntries([...(await Promise.all(pairs)), ...made])
}
