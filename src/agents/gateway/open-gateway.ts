import { createServer } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Ask, type CallCounts, noCalls } from './ask-model.ts'
import type { GatewayOptions } from './gateway-options.ts'
import { serveAgent } from './serve-agent.ts'
import { makeTrialKey } from './trial-key.ts'

/** An endpoint for one trial: every call of its agent passes through here and is recorded. */
export interface Gateway {
  /** What the agent shows instead of a provider's key; good here only. */
  readonly key: string
  /** Takes a connection, for example from a sandbox's door. */
  accept(socket: Duplex): void
  counts(): CallCounts
  /** Hangs up on everybody; waits until every call is written down. */
  close(): Promise<void>
}

/** Opens an endpoint that speaks four APIs, lets in only whoever has the trial's key, and asks the trial's model. */
export function openGateway(options: GatewayOptions): Gateway {
  const key = makeTrialKey()
  const closing = new AbortController()
  const sockets = new Set<Duplex>()
  const running = new Set<Promise<void>>()
  let counts = noCalls
  const count: Ask['count'] = (change) => {
    counts = { ...counts, ...change(counts) }
    options.onCount?.(counts)
  }
  const serving = { ...options, key, count, closing: closing.signal }
  const server = createServer((request, response) => {
    const work = serveAgent(serving, request, response).catch(() => void response.destroy())
    running.add(work)
    void work.finally(() => running.delete(work))
  })
  // An agent asks again when its command has ended; a connection that is closed meanwhile may lose that call.
  server.keepAliveTimeout = 0
  return {
    key,
    accept(socket) {
      if (closing.signal.aborted) return void socket.destroy()
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      socket.on('error', () => {})
      server.emit('connection', socket)
    },
    counts: () => counts,
    async close() {
      closing.abort()
      for (const socket of sockets) socket.destroy()
      await Promise.all(running)
    },
  }
}
