import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import type { Engine } from '../../core/model.ts'
import type { ModelSettings } from '../../core/stage.ts'
import { makeEngine } from '../../plugins/make.ts'

/** Where to find a model, as far as given; stored with a job so that it can be resumed. */
export const engineRequestSchema = z.strictObject({
  name: z.string().min(1).optional(),
  /** An engine file. */
  config: z.string().min(1).optional(),
  /** Several addresses are separated by commas. */
  api_base: z.string().min(1).optional(),
  api_key_env: z.string().min(1).optional(),
  /** Engine options that override all others. */
  options: z.record(z.string(), z.unknown()).optional(),
})
export type EngineRequest = z.output<typeof engineRequestSchema>

/** The engine request for a recipe's or judge's model settings. */
export function engineRequestFor({ engine, apiBase, apiKeyEnv, options }: ModelSettings): EngineRequest {
  return { name: engine, api_base: apiBase, api_key_env: apiKeyEnv, options: options && { ...options } }
}

/** An engine's name and options, before it is made. */
export interface NamedEngine {
  readonly name: string
  readonly options: Readonly<Record<string, unknown>>
  /** The requested model, or the one in the engine's file. */
  readonly model: string | null
}

/** Which engine the prefix of a model name selects. */
const prefixes: readonly (readonly [string, string])[] = [
  ['openai/', 'openai'],
  ['anthropic/', 'anthropic'],
  ['gemini/', 'gemini'],
  ['vertex/', 'vertex'],
  ['vertex_ai/', 'vertex'],
  ['llama/', 'llama'],
  ['scripted/', 'scripted'],
]

/** Resolves a request to an engine; null if neither the request nor the model's name selects one. */
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

/** Makes the requested engine, or null; adds settings such as limits per minute. */
export async function requestedEngine(
  request: EngineRequest,
  model: string | null,
  more: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly engine: Engine; readonly model: string | null } | null> {
  const found = await findEngine(request, model)
  return found && { engine: await makeEngine(found.name, { ...found.options, ...more }), model: found.model }
}

/** The engine in a file, with what its endpoint file says, if it has one. */
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

/** Nothing to refuse: a model behind a user's own server can be anywhere. */
function refuseLocal(model: string | null): null {
  if (!model?.startsWith('hosted_vllm/')) return null
  throw new UserError(
    `model ${model}: expected the address of the server that has it, got none`,
    'pass --api-base, for example --api-base http://localhost:8000/v1',
  )
}
