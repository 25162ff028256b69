import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { asRange, isAddress } from '../common/addresses.ts'

export interface Address {
  readonly address: string
  readonly family: number
}

export type Resolve = (name: string) => Promise<readonly Address[]>

/** Non-public addresses: this machine's own, its neighbours', a cloud's metadata server. */
const inner = listOf([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.168.0.0/16', '198.18.0.0/15', '224.0.0.0/4', '240.0.0.0/4'],
  ...['::/127', '64:ff9b::/96', 'fc00::/7', 'fe80::/10', 'ff00::/8'],
])

/** The hosts a sandbox may reach: names, `*.name` for everything below a name, addresses and address ranges. */
export class AllowedHosts {
  private readonly names: readonly string[]
  private readonly addresses: BlockList

  constructor(
    hosts: readonly string[],
    private readonly resolve: Resolve = (name) => lookup(name, { all: true }),
  ) {
    this.names = hosts.filter((host) => !isAddress(host)).map(plainName)
    this.addresses = listOf(hosts.filter(isAddress))
  }

  /**
   * Where to connect for a host: its addresses, or none when it is not allowed. A name that resolves to this machine or
   * its neighbours needs that address on the list too: the owner of a name may point it anywhere.
   */
  async find(host: string): Promise<readonly Address[]> {
    const name = plainName(host)
    if (isIP(name) !== 0) return this.lists(name) ? [{ address: name, family: isIP(name) }] : []
    if (!this.names.some((allowed) => matches(name, allowed))) return []
    const found = await this.resolve(name).catch(() => [])
    return found.filter(({ address }) => this.lists(address) || !holds(inner, address))
  }

  private lists(address: string): boolean {
    return holds(this.addresses, address)
  }
}

function matches(name: string, allowed: string): boolean {
  return allowed.startsWith('*.') ? name.endsWith(allowed.slice(1)) : name === allowed
}

/**
 * The form in which names are compared: lower case, without the root's dot and without the brackets of an address in a
 * URL.
 */
function plainName(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
}

function listOf(addresses: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of addresses.map(asRange)) {
    const [address = '', prefix] = range.split('/')
    list.addSubnet(address, Number(prefix), familyOf(address))
  }
  return list
}

/** Whether an address belongs to this machine, its neighbours or a cloud's metadata server, not to the internet. */
export function isInnerAddress(address: string): boolean {
  return holds(inner, address)
}

/** An IPv4 address written as IPv6 (`::ffff:10.0.0.1`) is the IPv4 address: `BlockList` knows that. */
function holds(list: BlockList, address: string): boolean {
  return list.check(address, familyOf(address))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}
