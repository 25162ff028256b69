import { createServer } from 'node:http'
import type { Duplex } from 'node:stream'
import { HttpShare, turnAway } from '../../../lib/http-share.ts'
import { type Ask, type CallCounts, noCalls } from './ask-model.ts'
import { type GatewayOptions, gatewayLimits, gatewayPool, sureShare } from './gateway-options.ts'
import { serveAgent } from './serve-agent.ts'
import { makeTrialKey } from './trial-key.ts'

/** An endpoint for one trial: every call of its agent passes through it and is recorded. */
export interface Gateway {
  /** What the agent uses instead of a provider's key; valid only here. */
  readonly key: string
  /** Accepts a connection, for example from a sandbox's door. */
  accept(socket: Duplex): void
  counts(): CallCounts
  /** Closes all connections; waits until every call is recorded. */
  close(): Promise<void>
}

/** Opens an endpoint that speaks four APIs, accepts only the trial's key, and forwards to the trial's model. */
export function openGateway(options: GatewayOptions): Gateway {
  const key = makeTrialKey()
  const closing = new AbortController()
  /** Every open connection, with the timer that ends it unless it sends a request head. */
  const heads = new Map<Duplex, NodeJS.Timeout>()
  const running = new Set<Promise<void>>()
  let counts = noCalls
  const count: Ask['count'] = (change) => {
    counts = { ...counts, ...change(counts) }
    options.onCount?.(counts)
  }
  const limits = { ...gatewayLimits, ...options.limits }
  const share = new HttpShare(limits, sureShare, gatewayPool)
  const serving = { ...options, key, count, closing: closing.signal, limits, share }
  const server = createServer((request, response) => {
    clearTimeout(heads.get(request.socket))
    const work = serveAgent(serving, request, response).catch(() => void response.destroy())
    running.add(work)
    void work.finally(() => running.delete(work))
  })
  // An agent calls again when its command has ended; if the connection is being closed at that moment, the call may be
  // lost.
  server.keepAliveTimeout = 0
  return {
    key,
    accept(socket) {
      if (closing.signal.aborted) return void socket.destroy()
      if (!share.take('connections')) return turnAway(socket, '429 Too Many Requests')
      // A server that does not listen itself does not enforce timeouts.
      const late = () => turnAway(socket, '408 Request Timeout')
      heads.set(socket, setTimeout(late, limits.headMs))
      socket.once('close', () => {
        clearTimeout(heads.get(socket))
        heads.delete(socket)
        share.release('connections')
      })
      socket.on('error', () => {})
      server.emit('connection', socket)
    },
    counts: () => counts,
    async close() {
      closing.abort()
      for (const socket of heads.keys()) socket.destroy()
      await Promise.all(running)
    },
  }
}
