import { createSocket, Socket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { BoundaryError } from '../../core/errors.ts'
import { exhaustionCause } from '../../lib/exhaustion.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'
import { cleanEnv } from '../namespaces/as-root-inside.ts'

/** The interfaces of this machine's default routes; null if it has none, and so no network to share. */
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

/** Every address on which this machine's own services may listen, and the whole loopback range. */
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

/** Where a sandbox's programs resolve names when the host's only server is on its own loopback. */
const relayAddress = '127.0.0.53'

/**
 * The name servers of this machine as a sandbox with its own network can reach them: not those on the host's loopback,
 * but those behind them. If these are unknown, `relay` is the server on the loopback, which must be asked from outside.
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
  // A file without servers means the local one.
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

/** Runs briefly in the sandbox's network only: it makes the socket there and passes it to us. */
const carpenter = `const socket = require('node:dgram').createSocket('udp4').bind(53, '${relayAddress}', () => process.send('names', socket))`

/** How many queries of one sandbox may be open; the oldest is dropped first, and its program asks again. */
const openQuestions = 200
const answerMs = 10_000

/**
 * Accepts DNS queries at an address in a sandbox's network and passes them to a server that only the host can reach.
 */
export async function openNameRelay(
  enter: readonly string[],
  server: string,
  port = 53,
): Promise<{ readonly close: () => void }> {
  const inside = await socketInside(enter)
  const asking = new Map<Socket, NodeJS.Timeout>()
  const forget = (socket: Socket) => {
    clearTimeout(asking.get(socket))
    if (asking.delete(socket)) socket.close()
  }
  inside.on('error', () => {})
  inside.on('message', (question, from) => {
    const [oldest] = asking.keys()
    if (asking.size >= openQuestions && oldest) forget(oldest)
    const socket = createSocket(isIPv6(server) ? 'udp6' : 'udp4')
    asking.set(
      socket,
      setTimeout(() => forget(socket), answerMs),
    )
    socket.on('error', () => forget(socket))
    socket.on('message', (answer) => {
      inside.send(answer, from.port, from.address, () => {})
      forget(socket)
    })
    socket.send(question, port, server, () => {})
  })
  inside.unref()
  return {
    close: () => {
      for (const socket of [...asking.keys()]) forget(socket)
      inside.close()
    },
  }
}

async function socketInside(enter: readonly string[]): Promise<Socket> {
  const child = await spawnProcess('nsenter', [...enter, process.execPath, '-e', carpenter], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: cleanEnv,
    cwd: '/',
    detached: true,
  })
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2000)
  })
  const handed = once(child, 'message').then(
    ([, socket]: unknown[]) => socket,
    () => null,
  )
  const gone = once(child, 'exit').then(
    () => null,
    () => null,
  )
  const socket = await Promise.race([handed, gone])
  child.kill('SIGKILL')
  await gone
  if (socket instanceof Socket) return socket
  const message = `cannot give a sandbox its name server: ${complaint.trim().slice(0, 300)}`
  throw new BoundaryError('sandbox', message, exhaustionCause(complaint))
}
