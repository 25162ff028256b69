import { BoundaryError, UserError } from '../../core/errors.ts'
import { type EngineRequest, requestedEngine } from '../engine/engine-request.ts'
import { parsedAssignments } from '../job/assignments.ts'
import type { Notify } from '../job/tasks-request.ts'
import { serveHere } from '../serve/serve-here.ts'
import { engineFileAt, type GridPoint } from './grid.ts'
import type { OpenModel } from './run-sweep.ts'

/** What to measure: a file, an engine, or a running server. */
export interface MeasuredModel {
  readonly config?: string | undefined
  readonly engine?: string | undefined
  readonly engineKwarg?: readonly string[] | undefined
  readonly apiBase?: string | undefined
  readonly apiKeyEnv?: string | undefined
  readonly model?: string | undefined
}

/** How to reach each point's server: started from a file, or already running. */
export function modelOpener(options: MeasuredModel, isVaried: boolean, notify: Notify) {
  const { config, engine: name, apiBase: api_base, apiKeyEnv: api_key_env, model = null } = options
  if (config === undefined && name === undefined && api_base === undefined)
    throw new UserError(
      'expected something to measure, got neither --config nor --engine nor --api-base',
      'for example: ot-agent serve sweep --api-base http://localhost:8000/v1',
    )
  if (api_base !== undefined && isVaried && name === undefined)
    throw new UserError(
      '--vary: expected a server that this command starts, got the address of a running one',
      'remove --vary and use --concurrency 1,4,16, or pass --config FILE instead of --api-base',
    )
  const own = parsedAssignments('--engine-kwarg', options.engineKwarg ?? [])
  return async (point: GridPoint, signal: AbortSignal): Promise<OpenModel> => {
    if (config !== undefined && name === undefined && api_base === undefined) {
      const file = await engineFileAt(config, point)
      if (file.vllm_server) {
        const server = await serveHere(file, config, { notify, signal })
        const close = async () => server[Symbol.asyncDispose]()
        const client = await clientOf({ api_base: server.apiBase }, model, signal).catch(async (error) => {
          await close()
          throw error
        })
        return { client, close }
      }
    }
    const request = { name, config, api_base, api_key_env, options: { ...own, ...point } }
    return { client: await clientOf(request, model, signal), close: async () => {} }
  }
}

async function clientOf(request: EngineRequest, model: string | null, signal: AbortSignal) {
  const made = await requestedEngine(request, model, { healthcheck_max_attempts: 1 })
  if (made === null) throw new UserError('expected an engine to measure, got none', 'pass --engine or --api-base')
  const health = await made.engine.health(signal)
  if (!health.healthy) throw new BoundaryError('model', health.reason)
  const asked = made.model ?? health.models?.[0]
  if (asked === undefined) throw new UserError('the server lists no models', 'choose one with --model')
  return made.engine.client(asked)
}
