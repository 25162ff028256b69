import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** What clients use of a server at a time: open connections, requests in progress, bytes of their bodies. */
export interface HttpUse {
  readonly connections: number
  readonly requests: number
  readonly bytes: number
}

/** What all clients of a process share, beyond what each is guaranteed. */
export class HttpPool {
  readonly used = { connections: 0, requests: 0, bytes: 0 }
  constructor(readonly limits: HttpUse) {}
}

/**
 * What one client may use of a server. Up to `sure` it is independent of other clients; the rest comes from the pool.
 */
export class HttpShare {
  private readonly used = { connections: 0, requests: 0, bytes: 0 }

  constructor(
    private readonly limits: HttpUse,
    private readonly sure: HttpUse,
    private readonly pool: HttpPool,
  ) {}

  /** Takes an amount, or takes nothing and returns false if that would exceed a limit. */
  take(what: keyof HttpUse, amount = 1): boolean {
    const wanted = this.used[what] + amount
    const fromPool = this.pool.used[what] + this.beyondSure(what, wanted) - this.beyondSure(what, this.used[what])
    if (wanted > this.limits[what] || fromPool > this.pool.limits[what]) return false
    this.used[what] = wanted
    this.pool.used[what] = fromPool
    return true
  }

  release(what: keyof HttpUse, amount = 1): void {
    const left = Math.max(0, this.used[what] - amount)
    this.pool.used[what] -= this.beyondSure(what, this.used[what]) - this.beyondSure(what, left)
    this.used[what] = left
  }

  private beyondSure(what: keyof HttpUse, amount: number): number {
    return Math.max(0, amount - this.sure[what])
  }
}

export interface BodyLimits {
  readonly bodyBytes: number
  /** The longest pause while a body arrives. */
  readonly idleMs: number
  /** The longest time for a whole body. */
  readonly totalMs: number
}

/**
 * A body, or why there is none. What was taken for it (`bytes`) must be released when its request has been answered.
 */
export type ReadBody =
  | { readonly kind: 'body'; readonly text: string; readonly bytes: number }
  | { readonly kind: 'too-large' | 'busy' | 'timeout' | 'gone' }

/**
 * Reads the body of a request within its limits. It counts as many bytes as arrive, whatever length the request claims.
 */
export function readBodyWithin(message: IncomingMessage, share: HttpShare, limits: BodyLimits): Promise<ReadBody> {
  if (Number(message.headers['content-length'] ?? 0) > limits.bodyBytes) return Promise.resolve({ kind: 'too-large' })
  return new Promise((resolve) => {
    // One buffer that grows: a list of chunks costs a hundred bytes per chunk, and each may hold a single byte.
    let buffer: Buffer = Buffer.alloc(0)
    let length = 0
    const end = (read: ReadBody) => {
      clearTimeout(total)
      clearTimeout(idle)
      message.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone)
      if (read.kind !== 'body') share.release('bytes', length)
      resolve(read)
    }
    const total = setTimeout(() => end({ kind: 'timeout' }), limits.totalMs)
    const idle = setTimeout(() => end({ kind: 'timeout' }), limits.idleMs)
    const onGone = () => end({ kind: 'gone' })
    const onEnd = () => end({ kind: 'body', text: buffer.toString('utf8', 0, length), bytes: length })
    const onData = (chunk: Buffer) => {
      if (length + chunk.length > limits.bodyBytes) return end({ kind: 'too-large' })
      if (!share.take('bytes', chunk.length)) return end({ kind: 'busy' })
      if (length + chunk.length > buffer.length) buffer = grown(buffer, length, length + chunk.length)
      length += chunk.copy(buffer, length)
      idle.refresh()
    }
    message.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone)
  })
}

function grown(buffer: Buffer, length: number, atLeast: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.max(4096, atLeast, buffer.length * 2))
  buffer.copy(larger, 0, 0, length)
  return larger
}

/** How long a refused client has to read its answer. */
const lingerMs = 1000

/** Ends the connection once its answer is sent; anything else from the client is dropped. */
export function closeAfter(message: IncomingMessage, response: ServerResponse): void {
  response.shouldKeepAlive = false
  message.resume()
  response.once('finish', () => lingering(message.socket))
}

/** Answers an unwanted connection with a status, without reading it. */
export function turnAway(socket: Duplex, status: string): void {
  socket.on('error', () => {})
  socket.resume()
  socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)
  lingering(socket)
}

let lingerers = 0
const mostLingerers = 64

/**
 * A client that is still sending would lose the answer if its connection were cut at once; only a few are waited for.
 */
function lingering(socket: Duplex): void {
  if (socket.destroyed) return
  if (lingerers >= mostLingerers) return void socket.destroy()
  lingerers++
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => {
    clearTimeout(timer)
    lingerers--
  })
}
