import { resolve } from 'node:path'
import type { Agent } from '../../core/agent.ts'
import { UserError } from '../../core/errors.ts'
import type { AgentConfig, EnvironmentConfig, JobConfig } from '../../core/job.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import { makeAgent, makeProvider } from '../../plugins/make.ts'
import { absoluteImportPath, isModulePath } from '../../plugins/user-modules/import-path.ts'
import { type EngineRequest, engineRequestSchema, findEngine, type NamedEngine } from '../engine/engine-request.ts'

/** The key in an agent's options that says where its model is; it is ours and not passed to the agent. */
export const engineKey = 'engine'

/** An agent's options without our key. */
function withoutEngine(kwargs: AgentConfig['kwargs']): AgentConfig['kwargs'] {
  const { [engineKey]: _, ...own } = kwargs
  return own
}

/** The engine of an agent's model; null without a model, or without an address for it. */
export async function engineOf({ modelName, kwargs }: AgentConfig): Promise<NamedEngine | null> {
  const request = requestIn(kwargs)
  if (modelName === null && Object.keys(request).length === 0) return null
  const found = await findEngine(request, modelName)
  const info = kwargs.model_info
  if (!found || info === undefined || info === null) return found
  return { ...found, options: { model_info: info, ...found.options } }
}

function requestIn(kwargs: AgentConfig['kwargs']): EngineRequest {
  const parsed = engineRequestSchema.safeParse(kwargs[engineKey] ?? {})
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new UserError(
      `${engineKey}.${issue?.path.join('.')}: ${issue?.message}`,
      'its keys are name, config, api_base, api_key_env and options',
    )
  }
  const base = typeof kwargs.api_base === 'string' ? { api_base: kwargs.api_base } : {}
  return { ...base, ...parsed.data }
}

/** Makes the paths of engine files absolute, so that they are found from any directory. */
export function absoluteEngine(kwargs: AgentConfig['kwargs']): AgentConfig['kwargs'] {
  const parsed = engineRequestSchema.safeParse(kwargs[engineKey])
  if (!parsed.success) return kwargs
  const { name, config, options = {}, ...rest } = parsed.data
  const whole = (value: unknown) => (typeof value === 'string' ? resolve(value) : value)
  const paths = ['tasks', 'script'].filter((key) => typeof options[key] === 'string')
  return {
    ...kwargs,
    [engineKey]: {
      ...rest,
      ...(name !== undefined && { name: isModulePath(name) ? absoluteImportPath(name) : name }),
      ...(config !== undefined && { config: resolve(config) }),
      ...(parsed.data.options && {
        options: { ...options, ...Object.fromEntries(paths.map((key) => [key, whole(options[key])])) },
      }),
    },
  }
}

/** The user's module of an agent's engine, if it has one. */
function engineModuleOf({ kwargs }: AgentConfig): string | null {
  const { name } = requestIn(kwargs)
  return name !== undefined && isModulePath(name) ? name : null
}

/** Loaded only if a user's module is named. The first call comes before any trial. */
const userModules = () => import('../../plugins/user-modules/make-imported.ts')

/** The agent named in a job's settings. */
export async function agentOf({ name, importPath, kwargs }: AgentConfig): Promise<Agent> {
  const own = withoutEngine(kwargs)
  if (name !== null) return makeAgent(name, own)
  if (importPath !== null) return (await userModules()).makeImportedAgent(importPath, own)
  throw new UserError('expected an agent, got none', 'pass one with -a NAME or --agent-import-path FILE')
}

/** The kind of sandbox named in a job's settings. */
export async function providerOf({ type, importPath, kwargs }: EnvironmentConfig): Promise<SandboxProvider> {
  if (type !== null) return makeProvider(type, kwargs)
  if (importPath !== null) return (await userModules()).makeImportedProvider(importPath, kwargs)
  throw new UserError('expected a kind of sandbox, got none', 'pass one with -e NAME or --environment-import-path FILE')
}

/**
 * The digests of the user code a job runs, by import path, and of what its agents are made from; if they change, it is
 * a different job.
 */
export async function importDigests({ agents, environment }: JobConfig): Promise<Readonly<Record<string, string>>> {
  const ofAgents = agents.map(({ name, importPath }) => (name === null ? importPath : null))
  const ofSandbox = environment.type === null ? environment.importPath : null
  const paths = [...ofAgents, ...agents.map(engineModuleOf), ofSandbox].filter((path) => path !== null)
  const pairs = paths.map(async (path) => [path, (await (await userModules()).loadImported(path)).digest] as const)
  const named = await Promise.all(agents.filter(({ name }) => name !== null).map(agentOf))
  const made = named.flatMap(({ digests = {} }) => Object.entries(digests))
  return Object.fromEntries([...(await Promise.all(pairs)), ...made])
}
