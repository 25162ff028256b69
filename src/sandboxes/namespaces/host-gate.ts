import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type Duplex, pipeline } from 'node:stream'
import { HttpPool, HttpShare, turnAway } from '../../lib/http-share.ts'
import type { AllowedHosts } from './allowed-hosts.ts'

/** The destination of a request. */
interface Target {
  readonly host: string
  readonly port: number
}

/** Programs inside may be hostile; each connection costs this process a file or two. */
const limits = { connections: 128, requests: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
const sure = { connections: 16, requests: 0, bytes: 0 }
/** What the sandboxes of all trials share beyond what each is guaranteed. */
const pool = new HttpPool({ ...limits, connections: 1024 })
/** How long a new connection may take to name its destination. */
const headMs = 30_000

/** A proxy for one sandbox: accepts connections of programs inside and lets them through to allowed hosts only. */
export function openHostGate(hosts: AllowedHosts): { readonly accept: (socket: Duplex) => void; close(): void } {
  const share = new HttpShare(limits, sure, pool)
  /** Every open connection, with the timer that closes it unless it names its destination. */
  const heads = new Map<Duplex, NodeJS.Timeout>()
  const server = createServer((incoming, response) => {
    clearTimeout(heads.get(incoming.socket))
    void forward(hosts, incoming, response)
  })
  server.on('connect', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    clearTimeout(heads.get(socket))
    socket.unshift(head)
    void tunnel(hosts, incoming, socket)
  })
  return {
    accept: (socket) => {
      if (!share.take('connections')) return turnAway(socket, '429 Too Many Requests')
      const late = () => turnAway(socket, '408 Request Timeout')
      heads.set(socket, setTimeout(late, headMs))
      socket
        .on('error', () => {})
        .once('close', () => {
          clearTimeout(heads.get(socket))
          heads.delete(socket)
          share.release('connections')
        })
      server.emit('connection', socket)
    },
    close: () => {
      for (const socket of heads.keys()) socket.destroy()
    },
  }
}

/** `CONNECT host:port`: everything after it is passed on, byte for byte. */
async function tunnel(hosts: AllowedHosts, incoming: IncomingMessage, socket: Duplex): Promise<void> {
  const target = targetOf(`http://${incoming.url}`)
  const outside = target && (await reach(hosts, target))
  if (!outside) {
    socket.end(
      `HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n${refusal(incoming.url)}`,
    )
    return
  }
  socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
  pipeline(outside, socket, outside, () => {})
}

/**
 * `GET http://host/path`: a request passed on unchanged, except for headers meant for the proxy and the Host header.
 * That is set to the host of the address, which is allowed: a server may have other hosts at the same address.
 */
async function forward(hosts: AllowedHosts, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const target = targetOf(incoming.url ?? '')
  const outside = target && (await reach(hosts, target))
  if (!outside) {
    response.writeHead(403, { 'content-type': 'text/plain', connection: 'close' }).end(refusal(incoming.url))
    return
  }
  const { pathname, search, host } = new URL(incoming.url ?? '')
  const { 'proxy-connection': _, 'proxy-authorization': __, ...headers } = incoming.headers
  const passed = request({
    createConnection: () => outside,
    method: incoming.method,
    path: pathname + search,
    headers: { ...headers, host, connection: 'close' },
    setHost: false,
  })
  response.once('close', () => outside.destroy())
  passed.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    pipeline(answer, response, () => {})
  })
  pipeline(incoming, passed, (error) => {
    if (error && !response.headersSent) response.writeHead(502, { connection: 'close' }).end(`${error.message}\n`)
  })
}

function targetOf(url: string): Target | null {
  const parsed = URL.parse(url)
  if (parsed?.protocol !== 'http:' || parsed.hostname === '') return null
  return { host: parsed.hostname, port: Number(parsed.port || 80) }
}

/**
 * A connection to the first address of a host that answers; null when the host is not allowed or no address answers.
 */
async function reach(hosts: AllowedHosts, { host, port }: Target): Promise<Socket | null> {
  for (const { address } of await hosts.find(host)) {
    const socket = await new Promise<Socket | null>((settle) => {
      const trying = connect({ host: address, port, timeout: 30_000 })
      trying.once('connect', () => settle(trying.setTimeout(0)))
      trying.once('timeout', () => trying.destroy())
      trying.on('error', () => {}).once('close', () => settle(null))
    })
    if (socket) return socket
  }
  return null
}

function refusal(url: string | undefined): string {
  return `${url ?? 'this host'} is not among the allowed hosts of this task, or does not answer\n`
}
