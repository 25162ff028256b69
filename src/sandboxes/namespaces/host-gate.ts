import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type Duplex, pipeline } from 'node:stream'
import type { AllowedHosts } from './allowed-hosts.ts'

/** Where a request wants to go. */
interface Target {
  readonly host: string
  readonly port: number
}

/** Programs inside may be hostile; each connection costs this process a file or two. */
const connectionLimit = 256

/** A proxy for one sandbox: takes connections of programs inside and lets them through to allowed hosts only. */
export function openHostGate(hosts: AllowedHosts): { readonly accept: (socket: Duplex) => void; close(): void } {
  const open = new Set<Duplex>()
  const server = createServer((incoming, response) => void forward(hosts, incoming, response))
  server.on('connect', (incoming: IncomingMessage, socket: Duplex) => void tunnel(hosts, incoming, socket))
  return {
    accept: (socket) => {
      if (open.size >= connectionLimit) {
        socket.on('error', () => {}).destroy()
        return
      }
      open.add(socket)
      socket.once('close', () => open.delete(socket)).on('error', () => {})
      server.emit('connection', socket)
    },
    close: () => {
      for (const socket of open) socket.destroy()
    },
  }
}

/** `CONNECT host:port`: what follows is theirs, byte for byte. */
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

/** `GET http://host/path`: a request passed on as it is, but for headers meant for the proxy. */
async function forward(hosts: AllowedHosts, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const target = targetOf(incoming.url ?? '')
  const outside = target && (await reach(hosts, target))
  if (!outside) {
    response.writeHead(403, { 'content-type': 'text/plain', connection: 'close' }).end(refusal(incoming.url))
    return
  }
  const { pathname, search } = new URL(incoming.url ?? '')
  const { 'proxy-connection': _, 'proxy-authorization': __, ...headers } = incoming.headers
  const passed = request({
    createConnection: () => outside,
    method: incoming.method,
    path: pathname + search,
    headers: { ...headers, connection: 'close' },
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

/** A connection to the first address of a host that answers; null when it is not allowed or none does. */
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
