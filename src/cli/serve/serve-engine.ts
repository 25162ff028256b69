import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { explainDisk } from '../../app/disk-errors.ts'
import { type EngineRequest, requestedEngine } from '../../app/engine/engine-request.ts'
import { UserError } from '../../core/errors.ts'
import type { Engine } from '../../core/model.ts'
import { type EndpointFile, saveEndpoint } from '../../formats/endpoint-json.ts'
import { kindAt } from '../../lib/files.ts'
import { registry } from '../../plugins/table.ts'
import { ownService, passOn } from '../../server/engine-service.ts'
import { isLoopback, serveModel } from '../../server/serve-model.ts'
import { note, printJson } from '../output.ts'

export interface ServeOptions {
  readonly config?: string
  readonly model?: string
  /** Of a model server: number of copies, instead of what its file says. */
  readonly replicas?: number
  /** Nodes of this Slurm job to spread them over, with commas between. */
  readonly hosts?: string
  readonly host: string
  /** Variable that holds the key callers must bring. */
  readonly keyEnv?: string
  /** False: none is asked for, wherever it listens. */
  readonly key: boolean
  /** A key that was made for this server and goes into the endpoint file, which only its owner can read. */
  readonly madeKey?: string | null
  readonly advertise?: string
  readonly port?: number
  readonly endpointJson?: string
  readonly quiet?: true
  readonly json?: true
}

/** What is told once something is served. */
export interface Served {
  readonly engine: string
  readonly model: string
  /** Without a path; several serve the same. */
  readonly origins: readonly string[]
}

/** Serves an engine until the signal is aborted. */
export async function serveEngine(request: EngineRequest, options: ServeOptions, signal: AbortSignal): Promise<void> {
  const made = await requestedEngine(request, options.model ?? null)
  if (made === null) {
    throw new UserError('expected an engine to serve, got none', 'name it with --engine, for example --engine scripted')
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
    const origin = advertised(server.origin, options)
    if (isNew) note(`callers must send this key, which is shown only here: ${apiKey}`)
    await announce({ engine: engine.name, model: model?.id ?? '', origins: [origin] }, options)
    await stopped(signal)
  } finally {
    await server.close()
    await withdraw(options.endpointJson)
  }
}

export interface InboundKey {
  readonly apiKey: string | null
  readonly isNew: boolean
}

/** The key callers must bring: in a variable that is named, or made where other machines can reach the server. */
export function inboundKey({ key, host }: Pick<ServeOptions, 'key' | 'host'>, keyEnv: string | undefined): InboundKey {
  if (keyEnv !== undefined) {
    const apiKey = process.env[keyEnv]
    if (apiKey && key) return { apiKey, isNew: false }
    const got = key ? `it is ${apiKey === undefined ? 'not set' : 'empty'}` : 'got --no-key too'
    throw new UserError(`--key-env ${keyEnv}: expected a variable that holds a key, but ${got}`, `set ${keyEnv}`)
  }
  if (!key || isLoopback(host)) return { apiKey: null, isNew: false }
  return { apiKey: `sk-serve-${randomBytes(24).toString('hex')}`, isNew: true }
}

function modelFor({ engine, model }: { readonly engine: Engine; readonly model: string | null }): string {
  if (model !== null) return model
  throw new UserError(`engine ${engine.name}: expected a model to serve, got none`, 'name it with -m MODEL')
}

/** An address as others reach it: who listens on all addresses is known by a name. */
export function advertised(origin: string, { advertise }: Pick<ServeOptions, 'advertise'>): string {
  const url = new URL(origin)
  const name = advertise ?? (url.hostname === '0.0.0.0' ? hostname() : undefined)
  return name === undefined ? origin : `${url.protocol}//${name}:${url.port}`
}

/** Tells where something is served: in a file for programs, on stdout for people or for scripts. */
export async function announce({ engine, model, origins }: Served, options: ServeOptions): Promise<void> {
  const file = options.endpointJson === undefined ? null : resolve(options.endpointJson)
  await saveAddresses(model, origins, options)
  const [origin = ''] = origins
  const baseUrl = `${origin}/v1`
  if (options.json) {
    const { pid } = process
    return printJson({ schema: 'served/1', engine, model, baseUrl, origin, origins, pid, endpointJson: file })
  }
  const lines = [
    `serving ${model} at ${origins.map((each) => `${each}/v1`).join(', ')}`,
    `engine: ${engine}, ${await summaryOf(engine)}`,
    ...(file === null ? [] : [`written to ${file}`]),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

/** Writes down where a model is served, for programs. */
export async function saveAddresses(
  modelName: string,
  endpointUrls: readonly string[],
  { endpointJson, keyEnv, madeKey = null }: Pick<ServeOptions, 'endpointJson' | 'keyEnv' | 'madeKey'>,
): Promise<void> {
  if (endpointJson === undefined) return
  const file = resolve(endpointJson)
  const endpoint: EndpointFile = {
    modelName,
    endpointUrls,
    apiPath: '/v1',
    // Of a variable only its name: a reader of the file has it too.
    apiKey: keyEnv === undefined ? madeKey : `\${${keyEnv}}`,
    healthPath: '/health',
    createdBy: 'ot-agent serve',
    more: {},
  }
  await explainDisk(file, async () => {
    if (!(await canBeReplaced(file)))
      throw new UserError(`--endpoint-json: expected a file, got ${file}, which is none`, 'name a file')
    await saveEndpoint(file, endpoint)
  })
}

/** A device or a pipe is neither replaced nor removed. */
async function canBeReplaced(path: string): Promise<boolean> {
  return ['none', 'file'].includes(await kindAt(path))
}

/** A stand-in must not be taken for a model. */
async function summaryOf(engine: string): Promise<string> {
  const engines: Readonly<Record<string, () => Promise<{ readonly default: { readonly summary: string } }>>> =
    registry.engines
  const load = Object.hasOwn(engines, engine) ? engines[engine] : undefined
  return load ? (await load()).default.summary : 'a server of its own'
}

/** A file that names a server which is gone would send others after it. */
export async function withdraw(endpointJson: string | undefined): Promise<void> {
  if (endpointJson === undefined) return
  await explainDisk(endpointJson, async () => {
    if (await canBeReplaced(endpointJson)) await rm(endpointJson, { force: true })
  })
}

/** Waits until the signal is aborted. */
export function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
