import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'

/** The interfaces of this machine's default routes; null where it has none, and so no network to share. */
export function outwardInterfaces(
  read: (path: string) => string = readKernelFile,
): { readonly v4: string | null; readonly v6: string | null } | null {
  const v4 = best(read('/proc/net/route').split('\n').slice(1).map(parseV4))
  const v6 = best(read('/proc/net/ipv6_route').split('\n').map(parseV6))
  return v4 === null && v6 === null ? null : { v4, v6 }
}

interface DefaultRoute {
  readonly name: string
  readonly metric: number
}

function best(routes: readonly (DefaultRoute | null)[]): string | null {
  const known = routes.filter((route) => route !== null)
  return known.sort((a, b) => a.metric - b.metric)[0]?.name ?? null
}

const up = 0x1
const reject = 0x200

function parseV4(line: string): DefaultRoute | null {
  const [name, destination, , flags = '', , , metric = '', mask] = line.trim().split(/\s+/)
  if (!name || destination !== '00000000' || mask !== '00000000') return null
  return isUsable(flags) ? { name, metric: Number(metric) } : null
}

function parseV6(line: string): DefaultRoute | null {
  const [destination, length, , , , metric = '', , , flags = '', name] = line.trim().split(/\s+/)
  if (!name || name === 'lo' || !/^0+$/.test(destination ?? '') || length !== '00') return null
  return isUsable(flags) ? { name, metric: Number.parseInt(metric, 16) } : null
}

function isUsable(flags: string): boolean {
  const bits = Number.parseInt(flags, 16)
  return (bits & up) !== 0 && (bits & reject) === 0
}

/** Every address at which this machine's own services may listen, and the whole loopback. */
export function hostAddresses(): { readonly v4: readonly string[]; readonly v6: readonly string[] } {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  const of = (family: string) => all.flatMap((it) => (it.family === family ? [it.address] : []))
  return {
    v4: ['127.0.0.0/8', ...of('IPv4').filter((address) => !address.startsWith('127.'))],
    v6: ['::1', ...of('IPv6').filter((address) => address !== '::1')],
  }
}

const systemdServers = '/run/systemd/resolve/resolv.conf'
const networkManagerServers = '/run/NetworkManager/no-stub-resolv.conf'

/** Where a sandbox's programs ask for names when the host's only server is one of its own loopback. */
export const relayAddress = '127.0.0.53'

/**
 * The name servers of this machine, as a sandbox with a network of its own can reach them: not those on the host's loopback,
 * but those behind them. Where these are unknown, `relay` is the server on the loopback that must be asked from outside.
 */
export function resolverFile(read: (path: string) => string = readKernelFile): {
  readonly text: string
  readonly relay: string | null
} {
  const ours = read('/etc/resolv.conf')
  const rest = ours.split('\n').filter((line) => /^\s*(search|domain|options)\s/.test(line))
  const servers = serversOf(ours)
  const text = (addresses: readonly string[]) =>
    [...addresses.map((address) => `nameserver ${address}`), ...rest, ''].join('\n')
  for (const known of [servers, serversOf(read(systemdServers)), serversOf(read(networkManagerServers))]) {
    const outside = known.filter((address) => !isLoopback(address))
    if (outside.length > 0) return { text: text(outside), relay: null }
  }
  // A file without servers means the one on the machine itself.
  const [first = '127.0.0.1'] = servers
  return { text: text([relayAddress]), relay: first }
}

function serversOf(text: string): string[] {
  return text.split('\n').flatMap((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? [])
}

function isLoopback(address: string): boolean {
  return /^(127\.|::1$|::ffff:127\.|0\.0\.0\.0$|::$)/i.test(address)
}

function readKernelFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
