import { resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { AgentConfig } from '../../core/job.ts'
import { absoluteImportPath, isModulePath } from '../../plugins/user-modules/import-path.ts'
import { type EngineRequest, engineRequestSchema, findEngine, type NamedEngine } from '../engine/engine-request.ts'

/** The key of an agent's options that says where its model is; it is ours, and no option of the agent. */
export const engineKey = 'engine'

/** An agent's own options. */
export function withoutEngine(kwargs: AgentConfig['kwargs']): AgentConfig['kwargs'] {
  const { [engineKey]: _, ...own } = kwargs
  return own
}

/** The engine of an agent's model; null when it has no model, or one without an address. */
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
      'it takes name, config, api_base, api_key_env and options',
    )
  }
  const base = typeof kwargs.api_base === 'string' ? { api_base: kwargs.api_base } : {}
  return { ...base, ...parsed.data }
}

/** Files that say where a model is are found from any directory. */
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

/** The module of an agent's engine, where a user wrote it. */
export function engineModuleOf({ kwargs }: AgentConfig): string | null {
  const { name } = requestIn(kwargs)
  return name !== undefined && isModulePath(name) ? name : null
}
