import { join } from 'node:path'
import { z } from 'zod'
import { messageOf } from '../../core/errors.ts'
import { isMissing } from '../../lib/files.ts'
import { readYaml } from '../../lib/read-yaml.ts'
import { ContextError, readInside } from '../dockerfile/context.ts'
import { expand } from '../dockerfile/expand.ts'
import { readNetworks, readVolumes } from './parts.ts'
import { type ComposeService, readService } from './service.ts'
import { composeError } from './words.ts'

/** The name by which a task's compose file is found in its environment. */
export const composeFileName = 'docker-compose.yaml'
/** The service in which the agent works. */
export const mainService = 'main'

/** A compose file that was read, filled in and found to stay within its containers. */
export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>
  /** As the compose command takes them. */
  readonly networks: Readonly<Record<string, object>>
  readonly volumes: readonly string[]
  /** What the file asks for and does not get. */
  readonly notes: readonly string[]
}

const fileSchema = z.record(z.string(), z.unknown())
const servicesSchema = z.record(
  z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]*$/),
  z.record(z.string(), z.unknown()).nullable(),
)
const known = new Set(['version', 'name', 'services', 'networks', 'volumes'])

/**
 * Reads an environment's compose file; null when it has none. Variables are filled in from `variables` only, never from the
 * host's; `ownVolumes` are there without being declared. What could reach beyond the containers is refused: the file is untrusted.
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
