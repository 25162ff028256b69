import { once } from 'node:events'
import { statSync } from 'node:fs'
import { createServer, Server } from 'node:net'
import type { Duplex } from 'node:stream'
import { BoundaryError } from '../../core/errors.ts'
import type { Door } from '../../core/sandbox.ts'
import { exhaustionCause } from '../../lib/exhaustion.ts'
import { systemPath } from '../../lib/programs.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'

/** How one of our processes enters a sandbox's network. */
export interface DoorFrame {
  /** Arguments of nsenter; null when the sandbox shares our own network. */
  readonly enter: readonly string[] | null
  /** Advice for the user when it cannot. */
  readonly cure?: string
}

/** Opens a port on a sandbox's own loopback whose connections arrive in this process. */
export async function openDoor({ enter, cure }: DoorFrame, accept: (socket: Duplex) => void): Promise<Door> {
  const server = enter === null ? await listenHere() : await listenInside(enter, cure)
  server.on('connection', accept)
  const address = server.address()
  if (address === null || typeof address === 'string') throw new BoundaryError('sandbox', 'a door without a port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      // Does not wait for its callback: a server that was handed over never calls it.
      if (server.listening) server.close()
    },
  }
}

/** How to enter the network of a process; for an ordinary user through its user namespace, if we own that. */
export function frameOf(pid: number, cure: string): DoorFrame {
  const user = process.getuid?.() === 0 ? [] : ['--preserve-credentials', `--user=/proc/${pid}/ns/user`]
  return { enter: sharesNetwork(pid) ? null : [...user, `--net=/proc/${pid}/ns/net`], cure }
}

function sharesNetwork(pid: number): boolean {
  try {
    return statSync(`/proc/${pid}/ns/net`).ino === statSync('/proc/self/ns/net').ino
  } catch {
    return false
  }
}

async function listenHere(): Promise<Server> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** Runs briefly in the sandbox's network only: it makes the listening socket there and passes it to us. */
const carpenter = `const server = require('node:net').createServer().listen(0, '127.0.0.1', () => process.send('door', server))`

async function listenInside(enter: readonly string[], cure: string | undefined): Promise<Server> {
  const child = await spawnProcess('nsenter', [...enter, process.execPath, '-e', carpenter], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { PATH: systemPath },
    cwd: '/',
    detached: true,
  })
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint += text
  })
  const handed = once(child, 'message').then(
    ([, server]: unknown[]) => server,
    () => null,
  )
  const gone = once(child, 'exit').then(
    () => null,
    (error: Error) => {
      complaint += error.message
      return null
    },
  )
  const server = await Promise.race([handed, gone])
  // It is still listening too, and must not take a connection that is meant for us.
  child.kill('SIGKILL')
  await gone
  if (server instanceof Server) return server
  const why = [complaint.trim().slice(0, 300), cure].filter(Boolean).join('; ')
  const details = { retryable: cure === undefined, ...exhaustionCause(complaint) }
  throw new BoundaryError('sandbox', `cannot open a connection into the sandbox: ${why}`, details)
}
