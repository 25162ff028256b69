import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { pluginSummary } from '../../app/describe-plugins.ts'
import { type EngineRequest, requestedEngine } from '../../app/engine/engine-request.ts'
import {
  advertised,
  inboundKey,
  type Served,
  type ServeRequest,
  saveAddresses,
  withdraw,
} from '../../app/serve/endpoint.ts'
import { UserError } from '../../core/errors.ts'
import type { Engine } from '../../core/model.ts'
import { untilAborted } from '../../lib/deadline.ts'
import { ownService, passOn } from '../../server/engine-service.ts'
import { serveModel } from '../../server/serve-model.ts'
import { note, printJson } from '../output.ts'

export interface ServeOptions extends ServeRequest {
  readonly quiet?: true
  readonly json?: true
}

/** Serves an engine until the signal is aborted. */
export async function serveEngine(request: EngineRequest, options: ServeOptions, signal: AbortSignal): Promise<void> {
  const made = await requestedEngine(request, options.model ?? null)
  if (made === null) {
    throw new UserError(
      'expected an engine to serve, got none',
      'pass one with --engine, for example --engine scripted',
    )
  }
  const { engine } = made
  const service = ownService(engine) ?? passOn(engine, modelFor(made))
  await service.prepare()
  const [model] = await service.models()
  const log = options.quiet ? undefined : (line: string) => note(line)
  const { apiKey, isNew } = inboundKey(options, options.keyEnv)
  const names = [
    hostname().toLowerCase(),
    ...(options.advertise === undefined ? [] : [options.advertise.toLowerCase()]),
  ]
  const settings = { host: options.host, port: options.port ?? 8000, apiKey, names, ...(log && { log }) }
  const server = await serveModel(service, settings)
  try {
    const served = { engine: engine.name, model: model?.id ?? '', origins: [advertised(server.origin, options)] }
    if (isNew) note(`callers must send this key, which is shown only once: ${apiKey}`)
    await saveAddresses(served.model, served.origins, options)
    await announce(served, options)
    await untilAborted(signal)
  } finally {
    await server.close()
    await withdraw(options.endpointJson)
  }
}

function modelFor({ engine, model }: { readonly engine: Engine; readonly model: string | null }): string {
  if (model !== null) return model
  throw new UserError(`engine ${engine.name}: expected a model to serve, got none`, 'pass one with -m MODEL')
}

/** Prints on stdout, for people or scripts, where something is served. */
export async function announce(
  { engine, model, origins }: Served,
  { endpointJson, json }: Pick<ServeOptions, 'endpointJson' | 'json'>,
): Promise<void> {
  const file = endpointJson === undefined ? null : resolve(endpointJson)
  const [origin = ''] = origins
  const baseUrl = `${origin}/v1`
  if (json) {
    const { pid } = process
    return printJson({ schema: 'served/1', engine, model, baseUrl, origin, origins, pid, endpointJson: file })
  }
  // A stand-in must not be taken for a model.
  const summary = (await pluginSummary('engine', engine)) ?? 'its own server'
  const lines = [
    `serving ${model} at ${origins.map((each) => `${each}/v1`).join(', ')}`,
    `engine: ${engine}, ${summary}`,
    ...(file === null ? [] : [`written to ${file}`]),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}
