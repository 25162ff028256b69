import { createHash, timingSafeEqual } from 'node:crypto'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf, UserError } from '../core/errors.ts'
import { codeOf } from '../lib/files.ts'

/** A server listening at `origin` until it is closed. */
export interface Listening {
  readonly origin: string
  close(): Promise<void>
}

/** Starts listening; port 0 picks a free port. */
export async function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  }).catch((error: unknown) => {
    const inUse = codeOf(error) === 'EADDRINUSE'
    throw new UserError(
      `expected to listen on ${host} port ${port}, ${inUse ? 'but the port is in use' : `got ${messageOf(error)}`}`,
      inUse ? 'choose another one with --port; 0 takes any free port' : 'choose another --host or --port',
    )
  })
  const { port: taken } = server.address() as AddressInfo
  return {
    origin: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Compares a caller's key with ours in constant time. */
export function isSameKey(given: unknown, key: string): boolean {
  return typeof given === 'string' && timingSafeEqual(digest(given), digest(key))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
