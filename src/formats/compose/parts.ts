import { z } from 'zod'
import { composeError } from './words.ts'

const partsSchema = z.record(z.string(), z.record(z.string(), z.unknown()).nullable()).nullish()
const bridge = new Set(['bridge', 'default', ''])

/** The networks between the services, less what is not theirs to say. */
export function readNetworks(value: unknown, path: string): Record<string, object> {
  const networks = partsSchema.safeParse(value)
  if (!networks.success) throw composeError(path, 'networks: expected a map by name')
  const read: Record<string, object> = {}
  for (const [name, network] of Object.entries(networks.data ?? {})) {
    for (const [key, item] of Object.entries(network ?? {})) {
      // Addresses of its own choice (ipam) would take over routes of the host.
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

/** The names of the volumes that services share. Every sandbox has its own. */
export function readVolumes(value: unknown, path: string): string[] {
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
