import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, Server } from 'node:net'
import type { Duplex } from 'node:stream'
import { BoundaryError } from '../../core/errors.ts'
import type { Door } from '../../core/sandbox.ts'
import { cleanEnv, enterUser } from './holder.ts'
import type { Privileges } from './privileges.ts'

export interface DoorFrame {
  readonly privileges: Privileges
  readonly outerPid: number
  readonly innerPid: number
  /** `none`: the sandbox has a loopback of its own; `host`: it shares ours. */
  readonly network: 'host' | 'none'
}

/** Opens a port on the sandbox's own loopback whose connections arrive in this process. */
export async function openDoor(frame: DoorFrame, accept: (socket: Duplex) => void): Promise<Door> {
  const server = frame.network === 'host' ? await listenHere() : await listenInside(frame)
  server.on('connection', accept)
  const address = server.address()
  if (address === null || typeof address === 'string') throw new BoundaryError('sandbox', 'a door without a port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      // Not waiting for its callback: a server that was handed over never calls it.
      if (server.listening) server.close()
    },
  }
}

async function listenHere(): Promise<Server> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** Run for a moment in the sandbox's network only: it makes the listening socket there and hands it to us. */
const carpenter = `const server = require('node:net').createServer().listen(0, '127.0.0.1', () => process.send('door', server))`

async function listenInside({ privileges, outerPid, innerPid }: DoorFrame): Promise<Server> {
  const enter = [...enterUser(privileges, outerPid), `--net=/proc/${innerPid}/ns/net`]
  const child = spawn('nsenter', [...enter, process.execPath, '-e', carpenter], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: cleanEnv,
    cwd: '/',
    detached: true,
  })
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint += text
  })
  const handed = once(child, 'message').then(([, server]: unknown[]) => server)
  const gone = once(child, 'exit').then(() => null)
  const server = await Promise.race([handed, gone])
  // It still listens too, and must not take a connection that is meant for us.
  child.kill('SIGKILL')
  await gone
  if (server instanceof Server) return server
  throw new BoundaryError('sandbox', `cannot open a door into the sandbox: ${complaint.trim().slice(0, 300)}`)
}
