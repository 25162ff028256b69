import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { resolveEnv } from '../core/env-template.ts'
import { UserError } from '../core/errors.ts'
import { writeAtomic } from '../lib/files.ts'
import { readJsonDocument } from './harbor-job/read-config.ts'
import { orUserError } from './harbor-task/read.ts'

/** The contents of a model server's endpoint file; unknown keys are kept. */
export interface EndpointFile {
  readonly modelName: string
  /** Addresses without the API's path, such as `http://node:8000`: at least one; all serve the same model. */
  readonly endpointUrls: readonly string[]
  readonly apiPath: string | null
  readonly apiKey: string | null
  /** A path below `endpointUrl` that answers when the server is up. */
  readonly healthPath: string | null
  readonly createdBy: string | null
  /** Other keys in the file, spelled as they are there. */
  readonly more: Readonly<Record<string, unknown>>
}

const address = z.url({ protocol: /^https?$/ })

const schema = z.looseObject({
  model_name: z.string().min(1),
  endpoint_url: z.union([address, z.array(address).nonempty()]).optional(),
  endpoint_urls: z.array(address).nonempty().nullish(),
  api_path: z.string().nullish(),
  api_key: z.string().nullish(),
  health_path: z.string().nullish(),
  created_by: z.string().nullish(),
})

/** Reads an endpoint file; a key written as `${VAR}` is taken from `env`. */
export async function loadEndpoint(
  path: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<EndpointFile> {
  const text = await orUserError(path, () => readFile(path, 'utf8'))
  const endpoint = parseEndpoint(text, path)
  if (endpoint.apiKey === null) return endpoint
  const { apiKey = '' } = resolveEnv({ apiKey: endpoint.apiKey }, env)
  return { ...endpoint, apiKey }
}

export function parseEndpoint(text: string, path: string): EndpointFile {
  const parsed = schema.safeParse(readJsonDocument(text, path))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw unknownAddress(path, `${issue?.path.join('.') || 'the document'}: ${issue?.message}`)
  }
  const { model_name, endpoint_url, endpoint_urls, api_path, api_key, health_path, created_by, ...more } = parsed.data
  const endpointUrls = [...new Set([endpoint_url ?? [], endpoint_urls ?? []].flat())]
  if (endpointUrls.length === 0) throw unknownAddress(path, 'endpoint_url: expected an address, got none')
  return {
    modelName: model_name,
    endpointUrls,
    apiPath: api_path ?? null,
    apiKey: api_key ?? null,
    healthPath: health_path ?? null,
    createdBy: created_by ?? null,
    more,
  }
}

function unknownAddress(path: string, problem: string): UserError {
  return new UserError(
    `${path}: expected an endpoint file, but ${problem}`,
    'it needs at least model_name and endpoint_url, for example http://localhost:8000',
  )
}

/**
 * The API's base URL, or several separated by commas. Such servers use a versioned path, so `/v1` is appended unless
 * the path ends in a version.
 */
export function apiBase({ endpointUrls, apiPath }: Pick<EndpointFile, 'endpointUrls' | 'apiPath'>): string {
  return endpointUrls.map((url) => apiBaseOf(url, apiPath)).join(',')
}

function apiBaseOf(endpointUrl: string, apiPath: string | null): string {
  const path = (apiPath ?? '').replaceAll(/^\/+|\/+$/g, '')
  const base = endpointUrl.replace(/\/+$/, '') + (path === '' ? '' : `/${path}`)
  return /\/v\d+[a-z]*$/.test(base) ? base : `${base}/v1`
}

export function renderEndpoint(endpoint: EndpointFile): string {
  const document = {
    model_name: endpoint.modelName,
    // For readers that only know a single address.
    endpoint_url: endpoint.endpointUrls[0],
    ...(endpoint.endpointUrls.length > 1 && { endpoint_urls: endpoint.endpointUrls }),
    ...(endpoint.apiPath !== null && { api_path: endpoint.apiPath }),
    ...(endpoint.apiKey !== null && { api_key: endpoint.apiKey }),
    ...(endpoint.healthPath !== null && { health_path: endpoint.healthPath }),
    ...(endpoint.createdBy !== null && { created_by: endpoint.createdBy }),
    ...endpoint.more,
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

/**
 * Writes an endpoint file atomically, readable only by its owner if it holds a key. Call it only once the server
 * answers.
 */
export async function saveEndpoint(path: string, endpoint: EndpointFile): Promise<void> {
  await writeAtomic(path, renderEndpoint(endpoint), endpoint.apiKey === null ? 0o644 : 0o600)
}
