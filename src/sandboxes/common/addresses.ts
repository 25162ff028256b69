import { isIP } from 'node:net'

/** Whether a host on a task's list is an address or an address range, not a name. */
export function isAddress(host: string): boolean {
  return isIP(host.split('/')[0] ?? '') !== 0
}

/** A single address as a range: `10.0.0.1/32`. */
export function asRange(address: string): string {
  return address.includes('/') ? address : `${address}/${isIP(address) === 6 ? 128 : 32}`
}
