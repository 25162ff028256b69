import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { codeOf } from '../lib/files.ts'
import { readBody } from './read-body.ts'

/** One address in front of several equal servers. */
export interface Balancer {
  readonly origin: string
  close(): Promise<void>
}

/** A request is kept whole, so that it can be sent to another server. */
const maxBodyBytes = 64 * 2 ** 20

interface Target {
  readonly origin: string
  /** Requests it has not answered to the end. */
  open: number
}

/**
 * Listens at one address and hands each request to the server that has the fewest open ones. A server that cannot be
 * reached is passed over; answers are streamed through as they come.
 */
export async function serveBalanced(origins: readonly string[], host: string, port: number): Promise<Balancer> {
  const targets: readonly Target[] = origins.map((origin) => ({ origin, open: 0 }))
  const server = createServer((asked, answer) => {
    void passOn(targets, asked, answer)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const address = server.address()
  const taken = typeof address === 'object' && address !== null ? address.port : port
  return {
    origin: `http://${host}:${taken}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function passOn(targets: readonly Target[], asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  try {
    const body = await readBody(asked, maxBodyBytes)
    if (body === null) return refuse(answer, 413, `expected at most ${maxBodyBytes} bytes`)
    for (const target of [...targets].sort((a, b) => a.open - b.open)) {
      if (await tryOne(target, asked, body, answer)) return
    }
    refuse(answer, 503, 'no server behind this address can be reached')
  } catch (error) {
    refuse(answer, 400, error instanceof Error ? error.message : String(error))
  }
}

/** False when the server could not be reached, so that another may be asked; nothing has been sent to it then. */
function tryOne(target: Target, asked: IncomingMessage, body: string, answer: ServerResponse): Promise<boolean> {
  target.open++
  return new Promise<boolean>((resolve) => {
    const { host: _host, 'content-length': _length, 'transfer-encoding': _encoding, ...headers } = asked.headers
    const url = new URL(asked.url ?? '/', target.origin)
    const up = request(url, {
      method: asked.method ?? 'GET',
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    })
    answer.once('close', () => up.destroy())
    up.once('response', (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers)
      got.pipe(answer)
      got.once('error', () => answer.destroy())
      got.once('close', () => resolve(true))
    })
    up.once('error', (error) => {
      if (codeOf(error) === 'ECONNREFUSED') return resolve(false)
      if (!answer.headersSent) refuse(answer, 502, error.message)
      else answer.destroy()
      resolve(true)
    })
    up.end(body)
  }).finally(() => {
    target.open--
  })
}

function refuse(answer: ServerResponse, status: number, message: string): void {
  if (answer.headersSent || answer.destroyed) return
  answer.writeHead(status, { 'content-type': 'application/json' })
  answer.end(JSON.stringify({ error: { message, type: 'server_error', code: status } }))
}
