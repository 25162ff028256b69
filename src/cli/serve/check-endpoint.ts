import { type EngineRequest, requestedEngine } from '../../app/engine/engine-request.ts'
import { UserError } from '../../core/errors.ts'
import { apiBase, loadEndpoint } from '../../formats/endpoint-json.ts'
import { oneLine } from '../../lib/visible.ts'
import { type Check, checkCompletion, checkConnection } from '../agents/check-model.ts'
import { printJson } from '../output.ts'
import type { ServeOptions } from './serve-engine.ts'

/** Looks at a server that runs already: is it there, does it have the model, does it answer a few words? */
export async function checkEndpoint(
  request: EngineRequest,
  options: Pick<ServeOptions, 'model' | 'endpointJson' | 'json'>,
  signal: AbortSignal,
): Promise<void> {
  const { where, model } = await withFile(request, options)
  // One check only: a caller that wants to wait for a server can check again.
  const made = await requestedEngine(where, model, where.name === undefined ? { healthcheck_max_attempts: 1 } : {})
  if (made === null) {
    throw new UserError(
      'expected the server to check, got none',
      'give --api-base http://localhost:8000/v1, --endpoint-json FILE or --config FILE',
    )
  }
  const checks: Check[] = []
  const tell = (check: Check) => {
    checks.push(check)
    if (!options.json) print(check)
    return check
  }
  const connection = tell(await checkConnection(made.engine, signal))
  const served = Array.isArray(connection.details.models) ? connection.details.models.map(String) : []
  const asked = made.model ?? served[0]
  if (connection.ok) tell(asked === undefined ? namelessModel : await checkCompletion(made.engine, asked, signal))
  const failed = checks.find(({ ok }) => !ok)
  if (options.json) printJson({ schema: 'endpoint-check/1', ok: failed === undefined, model: asked ?? null, checks })
  process.exitCode = failed === undefined ? 0 : failed.blame === 'user' ? 2 : 3
}

/** Some servers answer to any name they can load, but list nothing. */
const namelessModel: Check = {
  name: 'completion',
  ok: false,
  says: 'it lists no model: name the one to ask with --model',
  blame: 'user',
  details: {},
}

async function withFile(request: EngineRequest, { model, endpointJson }: Pick<ServeOptions, 'model' | 'endpointJson'>) {
  if (endpointJson === undefined) return { where: request, model: model ?? null }
  const endpoint = await loadEndpoint(endpointJson, process.env)
  const key = endpoint.apiKey === null ? {} : { api_key: endpoint.apiKey }
  const where = { api_base: apiBase(endpoint), ...request, options: { ...key, ...request.options } }
  return { where, model: model ?? endpoint.modelName }
}

function print({ ok, says, details }: Check): void {
  process.stdout.write(`${ok ? '✓' : '✗'} ${oneLine(says)}\n`)
  if (Array.isArray(details.models)) process.stdout.write(`  models: ${oneLine(details.models.join(', '))}\n`)
}
