import { UserError } from '../../core/errors.ts'
import { apiBase, loadEndpoint } from '../../formats/endpoint-json.ts'
import { type Check, checkCompletion, checkConnection } from './check-model.ts'
import { type EngineRequest, requestedEngine } from './engine-request.ts'

interface Asked {
  readonly model?: string
  /** The endpoint file that a server wrote. */
  readonly endpointJson?: string
}

export interface EndpointCheck {
  /** The model that was asked; null if unknown. */
  readonly model: string | null
  readonly checks: readonly Check[]
}

/** Checks a running server: is it reachable, does it have the model, does it answer a short prompt? */
export async function checkEndpoint(
  request: EngineRequest,
  asked: Asked,
  { signal, onCheck }: { readonly signal: AbortSignal; onCheck(check: Check): void },
): Promise<EndpointCheck> {
  const { where, model } = await withFile(request, asked)
  // Checks once only; callers that want to wait for a server can repeat the check.
  const made = await requestedEngine(where, model, where.name === undefined ? { healthcheck_max_attempts: 1 } : {})
  if (made === null) {
    throw new UserError(
      'expected a server to check, got none',
      'pass --api-base http://localhost:8000/v1, --endpoint-json FILE or --config FILE',
    )
  }
  const connection = await checkConnection(made.engine, signal)
  onCheck(connection)
  const served = Array.isArray(connection.details.models) ? connection.details.models.map(String) : []
  const name = made.model ?? served[0] ?? null
  if (!connection.ok) return { model: name, checks: [connection] }
  const completion = name === null ? namelessModel : await checkCompletion(made.engine, name, signal)
  onCheck(completion)
  return { model: name, checks: [connection, completion] }
}

/** Some servers accept any model name they can load but list none. */
const namelessModel: Check = {
  name: 'completion',
  ok: false,
  says: 'it lists no models: choose one with --model',
  blame: 'user',
  details: {},
}

async function withFile(request: EngineRequest, { model, endpointJson }: Asked) {
  if (endpointJson === undefined) return { where: request, model: model ?? null }
  const endpoint = await loadEndpoint(endpointJson, process.env)
  const key = endpoint.apiKey === null ? {} : { api_key: endpoint.apiKey }
  const where = { api_base: apiBase(endpoint), ...request, options: { ...key, ...request.options } }
  return { where, model: model ?? endpoint.modelName }
}
