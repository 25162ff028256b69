import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { type EndpointFile, saveEndpoint } from '../../formats/endpoint-json.ts'
import { kindAt } from '../../lib/files.ts'
import { isLoopback } from '../../lib/loopback.ts'
import { explainDisk } from '../disk-errors.ts'

/** Where to serve a model, and who may call it. */
export interface ServeRequest {
  /** The engine file. */
  readonly config?: string
  readonly model?: string
  /** For a model server: number of copies, overriding its file. */
  readonly replicas?: number
  /** Comma-separated nodes of this Slurm job to spread the copies over. */
  readonly hosts?: string
  readonly host: string
  /** The variable that holds the key callers must send. */
  readonly keyEnv?: string
  /** False: no key is required, wherever it listens. */
  readonly key: boolean
  /** A key generated for this server; stored in the endpoint file, which only its owner can read. */
  readonly madeKey?: string | null
  readonly advertise?: string
  readonly port?: number
  readonly endpointJson?: string
  /** The public address of a tunnel, without a path. */
  readonly publicUrl?: string
}

/** What is known once a model is served. */
export interface Served {
  readonly engine: string
  readonly model: string
  /** Addresses without a path; all serve the same model. */
  readonly origins: readonly string[]
}

export interface InboundKey {
  readonly apiKey: string | null
  readonly isNew: boolean
}

/** The key callers must send: from the given variable, or generated if other machines can reach the server. */
export function inboundKey({ key, host }: Pick<ServeRequest, 'key' | 'host'>, keyEnv: string | undefined): InboundKey {
  if (keyEnv !== undefined) {
    const apiKey = process.env[keyEnv]
    if (apiKey && key) return { apiKey, isNew: false }
    const got = key ? `it is ${apiKey === undefined ? 'not set' : 'empty'}` : 'got --no-key too'
    throw new UserError(`--key-env ${keyEnv}: expected a variable that holds a key, but ${got}`, `set ${keyEnv}`)
  }
  if (!key || isLoopback(host)) return { apiKey: null, isNew: false }
  return { apiKey: `sk-serve-${randomBytes(24).toString('hex')}`, isNew: true }
}

/** An address as others reach it: a server that listens on all interfaces needs a host name. */
export function advertised(origin: string, { advertise }: Pick<ServeRequest, 'advertise'>): string {
  const url = new URL(origin)
  const name = advertise ?? (url.hostname === '0.0.0.0' ? hostname() : undefined)
  return name === undefined ? origin : `${url.protocol}//${name}:${url.port}`
}

/** Writes an endpoint file saying where a model is served. */
export async function saveAddresses(
  modelName: string,
  endpointUrls: readonly string[],
  {
    endpointJson,
    keyEnv,
    madeKey = null,
    publicUrl,
  }: Pick<ServeRequest, 'endpointJson' | 'keyEnv' | 'madeKey' | 'publicUrl'>,
): Promise<void> {
  if (endpointJson === undefined) return
  const file = resolve(endpointJson)
  const endpoint: EndpointFile = {
    modelName,
    endpointUrls,
    apiPath: '/v1',
    // Write only the name of the variable: every reader of the file has it set.
    apiKey: keyEnv === undefined ? madeKey : `\${${keyEnv}}`,
    healthPath: '/health',
    createdBy: 'ot-agent serve',
    more: publicUrl === undefined ? {} : { public_url: publicUrl },
  }
  await explainDisk(file, async () => {
    if (!(await canBeReplaced(file)))
      throw new UserError(`--endpoint-json: expected a file, got ${file}, which is not a file`, 'give a file')
    await saveEndpoint(file, endpoint)
  })
}

/** Removes the endpoint file of a stopped server, so that no client connects to it. */
export async function withdraw(endpointJson: string | undefined): Promise<void> {
  if (endpointJson === undefined) return
  await explainDisk(endpointJson, async () => {
    if (await canBeReplaced(endpointJson)) await rm(endpointJson, { force: true })
  })
}

/** True unless it is a device or pipe, which is neither replaced nor removed. */
async function canBeReplaced(path: string): Promise<boolean> {
  return ['none', 'file'].includes(await kindAt(path))
}
