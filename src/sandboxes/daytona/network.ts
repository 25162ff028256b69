import type { Network } from '../../core/task.ts'
import { asRange, isAddress } from '../common/addresses.ts'

/** A network in Daytona's terms: addresses and names are allowed in separate lists. */
export interface NetworkSettings {
  networkBlockAll: boolean
  networkAllowList?: string
  domainAllowList?: string
}

export function networkSettings(network: Network): NetworkSettings {
  if (network.mode === 'public') return { networkBlockAll: false }
  const hosts = network.mode === 'allowlist' ? network.hosts : []
  const addresses = hosts.filter(isAddress).map(asRange)
  const names = hosts.filter((host) => !isAddress(host))
  return {
    networkBlockAll: hosts.length === 0,
    ...(addresses.length > 0 && { networkAllowList: addresses.join(',') }),
    ...(names.length > 0 && { domainAllowList: names.join(',') }),
  }
}
