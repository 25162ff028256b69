import { join } from 'node:path'
import { z } from 'zod'
import { messageOf } from '../../core/errors.ts'
import { isMissing } from '../../lib/files.ts'
import { readYaml } from '../../lib/read-yaml.ts'
import { ContextError, readInside } from '../dockerfile/context.ts'
import { expand } from '../dockerfile/expand.ts'
import { type ComposeService, readService } from './service.ts'
import { composeError } from './words.ts'

/** The name of the compose file in a task's environment. */
export const composeFileName = 'docker-compose.yaml'
/** The service in which the agent works. */
export const mainService = 'main'

/** A compose file, parsed, with variables filled in, and confirmed to stay within its containers. */
export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>
  /** In the compose command's format. */
  readonly networks: Readonly<Record<string, object>>
  readonly volumes: readonly string[]
  /** What the file requests but does not get. */
  readonly notes: readonly string[]
}

const fileSchema = z.record(z.string(), z.unknown())
const servicesSchema = z.record(
  z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]*$/),
  z.record(z.string(), z.unknown()).nullable(),
)
const known = new Set(['version', 'name', 'services', 'networks', 'volumes'])

/**
 * Reads an environment's compose file; null if there is none. Variables come only from `variables`, never from the
 * host; `ownVolumes` exist without being declared. The file is untrusted, so anything that could reach beyond the
 * containers is refused.
 */
export async function loadCompose(
  dir: string,
  variables: Readonly<Record<string, string>>,
  ownVolumes: readonly string[] = [],
): Promise<ComposeFile | null> {
  const path = join(dir, composeFileName)
  const text = await readInside(dir, composeFileName).catch((error: unknown) => {
    if (isMissing(error)) return null
    throw error instanceof ContextError ? composeError(path, error.message) : error
  })
  if (text === null) return null
  const file = fileSchema.safeParse(fillIn(readDocument(text, path), variables, path))
  if (!file.success) throw composeError(path, 'expected a map of keys')
  for (const key of Object.keys(file.data))
    if (!known.has(key) && !key.startsWith('x-')) throw composeError(path, `the key ${key} is not supported`)
  const services = servicesSchema.safeParse(file.data.services)
  if (!services.success || !Object.hasOwn(services.data, mainService))
    throw composeError(path, `expected a service called ${mainService}, in which the agent works`)
  const notes: string[] = []
  const volumes = [...readVolumes(file.data.volumes, path), ...ownVolumes]
  const read: Record<string, ComposeService> = {}
  for (const [name, service] of Object.entries(services.data))
    read[name] = await readService(service ?? {}, { dir, path, name, volumes, note: (line) => void notes.push(line) })
  const used = new Set(
    Object.values(read).flatMap(({ mounts }) => mounts.map((it) => (it.kind === 'volume' ? it.name : ''))),
  )
  const networks = readNetworks(file.data.networks, path)
  return { services: read, networks, volumes: volumes.filter((name) => used.has(name)), notes }
}

function readDocument(text: string, path: string): unknown {
  try {
    return readYaml(text, { merge: true, maxAliasCount: 100 })
  } catch (error) {
    throw composeError(path, messageOf(error).split('\n')[0] ?? 'not YAML')
  }
}

const dollar = '\uE000'

function fillIn(value: unknown, variables: Readonly<Record<string, string>>, path: string): unknown {
  if (Array.isArray(value)) return value.map((item) => fillIn(item, variables, path))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillIn(item, variables, path)]))
  if (typeof value !== 'string' || !value.includes('$')) return value
  try {
    const text = value.replaceAll('$$', dollar)
    const filled = expand(text, new Map(Object.entries(variables)), { quotes: false, escapeChar: '\0' })
    return filled.replaceAll(dollar, '$')
  } catch (error) {
    throw composeError(path, messageOf(error))
  }
}

const partsSchema = z.record(z.string(), z.record(z.string(), z.unknown()).nullable()).nullish()
const bridge = new Set(['bridge', 'default', ''])

/** The networks between services, without the settings a task may not control. */
function readNetworks(value: unknown, path: string): Record<string, object> {
  const networks = partsSchema.safeParse(value)
  if (!networks.success) throw composeError(path, 'networks: expected a map by name')
  const read: Record<string, object> = {}
  for (const [name, network] of Object.entries(networks.data ?? {})) {
    for (const [key, item] of Object.entries(network ?? {})) {
      // Custom addresses (ipam) would take over routes of the host.
      const fine =
        ['name', 'labels', 'internal', 'attachable', 'enable_ipv6'].includes(key) ||
        key.startsWith('x-') ||
        (key === 'driver' && bridge.has(String(item))) ||
        (key === 'external' && item === false)
      if (!fine) throw composeError(path, `networks.${name}.${key} could reach beyond the sandbox`)
    }
    read[name] = network?.internal === true ? { internal: true } : {}
  }
  return read
}

/** The names of volumes shared between services. Every sandbox has its own. */
function readVolumes(value: unknown, path: string): string[] {
  const volumes = partsSchema.safeParse(value)
  if (!volumes.success) throw composeError(path, 'volumes: expected a map by name')
  for (const [name, volume] of Object.entries(volumes.data ?? {}))
    for (const [key, item] of Object.entries(volume ?? {})) {
      const fine =
        ['name', 'labels'].includes(key) ||
        key.startsWith('x-') ||
        (key === 'driver' && item === 'local') ||
        (key === 'external' && item === false)
      if (!fine) throw composeError(path, `volumes.${name}.${key} could reach beyond the sandbox`)
    }
  return Object.keys(volumes.data ?? {})
}
