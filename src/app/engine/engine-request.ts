import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import type { Engine } from '../../core/model.ts'
import type { ModelSettings } from '../../core/stage.ts'
import { makeEngine } from '../../plugins/make.ts'

/** Where a model is to be found, as far as it was given; kept with a job, so that it can be resumed. */
export const engineRequestSchema = z.strictObject({
  name: z.string().min(1).optional(),
  /** An engine file. */
  config: z.string().min(1).optional(),
  /** Several have commas between them. */
  api_base: z.string().min(1).optional(),
  api_key_env: z.string().min(1).optional(),
  /** Options of the engine, over all others. */
  options: z.record(z.string(), z.unknown()).optional(),
})
export type EngineRequest = z.output<typeof engineRequestSchema>

/** Where the settings of a recipe, or of a judge, say that a model is. */
export function engineRequestFor({ engine, apiBase, apiKeyEnv, options }: ModelSettings): EngineRequest {
  return { name: engine, api_base: apiBase, api_key_env: apiKeyEnv, options: options && { ...options } }
}

/** An engine by its name and options, before it is made. */
export interface NamedEngine {
  readonly name: string
  readonly options: Readonly<Record<string, unknown>>
  /** The model that was asked for, or the one that the engine's own file names. */
  readonly model: string | null
}

/** Which engine a model's first word stands for. */
const prefixes: readonly (readonly [string, string])[] = [
  ['openai/', 'openai'],
  ['anthropic/', 'anthropic'],
  ['gemini/', 'gemini'],
  ['vertex/', 'vertex'],
  ['vertex_ai/', 'vertex'],
  ['llama/', 'llama'],
  ['scripted/', 'scripted'],
]

/** Finds the engine that a request means; null when it says nothing, and the model's name does not either. */
export async function findEngine(request: EngineRequest, model: string | null): Promise<NamedEngine | null> {
  const file = request.config === undefined ? null : await readFile(request.config)
  const base = request.api_base ?? null
  const name = request.name ?? (base === null ? (file?.name ?? prefixOf(model)) : 'openai-compatible')
  if (name === null) return refuseLocal(model)
  const asked = model ?? file?.model ?? null
  return {
    name,
    model: asked,
    options: {
      ...(file?.name === name && file.options),
      ...(asked !== null && { model: asked }),
      ...(base !== null && { api_base: base }),
      ...(request.api_key_env !== undefined && { api_key_env: request.api_key_env }),
      ...request.options,
    },
  }
}

/** Makes the engine that a request means, or null; settings such as limits per minute are added. */
export async function requestedEngine(
  request: EngineRequest,
  model: string | null,
  more: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly engine: Engine; readonly model: string | null } | null> {
  const found = await findEngine(request, model)
  return found && { engine: await makeEngine(found.name, { ...found.options, ...more }), model: found.model }
}

/** The engine of a file, and what its endpoint file says where it has one. */
async function readFile(path: string): Promise<NamedEngine> {
  const { chooseEngine, loadEngineFile } = await import('../../formats/engine-yaml.ts')
  const { name, options, endpointJson } = chooseEngine(await loadEngineFile(path))
  const model = typeof options.model === 'string' ? options.model : null
  if (endpointJson === null) return { name, options, model }
  const { apiBase, loadEndpoint } = await import('../../formats/endpoint-json.ts')
  const endpoint = await loadEndpoint(endpointJson, process.env)
  const own = { api_base: apiBase(endpoint), ...(endpoint.apiKey !== null && { api_key: endpoint.apiKey }) }
  return { name, options: { model: endpoint.modelName, ...own, ...options }, model: model ?? endpoint.modelName }
}

function prefixOf(model: string | null): string | null {
  return prefixes.find(([prefix]) => model?.startsWith(prefix))?.[1] ?? null
}

/** A model behind a user's own server can be anywhere. */
function refuseLocal(model: string | null): null {
  if (!model?.startsWith('hosted_vllm/')) return null
  throw new UserError(
    `model ${model}: expected the address of the server that has it, got none`,
    'pass --api-base, for example --api-base http://localhost:8000/v1',
  )
}
