import { createHash, timingSafeEqual } from 'node:crypto'
import type { Server } from 'node:http'
import { messageOf, UserError } from '../core/errors.ts'
import { codeOf } from '../lib/files.ts'

/** Starts to listen; port 0 takes any that is free. */
export async function listen(server: Server, { host, port }: { readonly host: string; readonly port: number }) {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  }).catch((error: unknown) => {
    const inUse = codeOf(error) === 'EADDRINUSE'
    throw new UserError(
      `expected to listen on ${host} port ${port}, got ${inUse ? 'a port that is in use' : messageOf(error)}`,
      inUse ? 'choose another one with --port; 0 takes any that is free' : 'choose another --host or --port',
    )
  })
}

/** Whether a caller brought the right key, in a time that says nothing about it. */
export function isSameKey(given: unknown, key: string): boolean {
  return typeof given === 'string' && timingSafeEqual(digest(given), digest(key))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
