import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { createServer, Server } from 'node:net'
import type { Duplex } from 'node:stream'
import { BoundaryError } from '../../core/errors.ts'
import type { Door } from '../../core/sandbox.ts'
import { cleanEnv } from '../local/holder.ts'

/** Opens a port on an instance's own loopback whose connections arrive in this process. `pid`: its first process. */
export async function openDoor(pid: number, accept: (socket: Duplex) => void): Promise<Door> {
  const isShared = statSync(`/proc/${pid}/ns/net`).ino === statSync('/proc/self/ns/net').ino
  const server = isShared ? await listenHere() : await listenInside(pid)
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

/** Run for a moment in the instance's network only: it makes the listening socket there and hands it to us. */
const carpenter = `const server = require('node:net').createServer().listen(0, '127.0.0.1', () => process.send('door', server))`

async function listenInside(pid: number): Promise<Server> {
  const user = process.getuid?.() === 0 ? [] : ['--preserve-credentials', `--user=/proc/${pid}/ns/user`]
  const child = spawn('nsenter', [...user, `--net=/proc/${pid}/ns/net`, process.execPath, '-e', carpenter], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: cleanEnv,
    cwd: '/',
    detached: true,
  })
  child.on('error', () => {})
  const handed = once(child, 'message').then(
    ([, server]: unknown[]) => server,
    () => null,
  )
  const gone = once(child, 'exit').then(
    () => null,
    () => null,
  )
  const server = await Promise.race([handed, gone])
  // It still listens too, and must not take a connection that is meant for us.
  child.kill('SIGKILL')
  await gone
  if (server instanceof Server) return server
  throw new BoundaryError('sandbox', 'cannot open a door into the instance; it needs nsenter')
}
