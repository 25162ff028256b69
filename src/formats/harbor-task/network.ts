import { isIP, isIPv4 } from 'node:net'
import type { Network } from '../../core/task.ts'
import type { Refuse } from './refuse.ts'
import type { EnvironmentToml } from './schema.ts'

interface NetworkToml {
  readonly network_mode?: Network['mode'] | undefined
  readonly allowed_hosts?: readonly string[] | undefined
}

/** The network of one phase, or undefined when the phase says nothing and keeps the environment's. */
export function phaseNetwork(toml: NetworkToml, key: string, refuse: Refuse): Network | undefined {
  const { network_mode: mode, allowed_hosts: hosts } = toml
  const stray = mode === undefined ? hosts !== undefined : mode !== 'allowlist' && (hosts?.length ?? 0) > 0
  if (stray) refuse(`${key}.allowed_hosts`, 'it only together with network_mode = "allowlist"', hosts)
  if (mode === 'allowlist') return { mode, hosts: (hosts ?? []).map((host) => normalizeHost(host, key, refuse)) }
  return mode === undefined ? undefined : { mode }
}

/** The network of an environment: its mode, else what the older `allow_internet` says, else public. */
export function environmentNetwork(toml: EnvironmentToml, key: string, refuse: Refuse): Network {
  const network = phaseNetwork(toml, key, refuse)
  if (network?.mode === 'public' && toml.allow_internet === false) {
    refuse(`${key}.network_mode`, 'it to agree with allow_internet = false', 'public')
  }
  return network ?? { mode: toml.allow_internet === false ? 'no-network' : 'public' }
}

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

function normalizeHost(given: string, key: string, refuse: Refuse): string {
  const host = given.trim().toLowerCase().replace(/\.+$/, '')
  if (isIP(host) !== 0 || isRange(host)) return host
  const name = host.startsWith('*.') ? host.slice(2) : host
  const isName = isIP(name) === 0 && name.split('.').every((part) => label.test(part))
  if (isName) return host
  return refuse(`${key}.allowed_hosts`, 'host names, *.host names, IP addresses or CIDR ranges', given)
}

function isRange(host: string): boolean {
  const [address = '', bits = '', ...rest] = host.split('/')
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits) || isIP(address) === 0) return false
  return Number(bits) <= (isIPv4(address) ? 32 : 128)
}
