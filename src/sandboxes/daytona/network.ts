import { isIP } from 'node:net'
import type { Network } from '../../core/task.ts'

/** A network in Daytona's words: addresses and names are allowed in separate lists. */
export interface NetworkSettings {
  networkBlockAll: boolean
  networkAllowList?: string
  domainAllowList?: string
}

export function networkSettings(network: Network): NetworkSettings {
  if (network.mode === 'public') return { networkBlockAll: false }
  const hosts = network.mode === 'allowlist' ? network.hosts : []
  const addresses = hosts.filter(isAddress).map(withPrefix)
  const names = hosts.filter((host) => !isAddress(host))
  return {
    networkBlockAll: hosts.length === 0,
    ...(addresses.length > 0 && { networkAllowList: addresses.join(',') }),
    ...(names.length > 0 && { domainAllowList: names.join(',') }),
  }
}

function isAddress(host: string): boolean {
  return isIP(host.split('/')[0] ?? '') !== 0
}

function withPrefix(address: string): string {
  return address.includes('/') ? address : `${address}/${isIP(address) === 6 ? 128 : 32}`
}
