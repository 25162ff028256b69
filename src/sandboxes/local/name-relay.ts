import { createSocket, Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { BoundaryError } from '../../core/errors.ts'
import { exhaustionCause } from '../../lib/exhaustion.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'
import { cleanEnv } from '../namespaces/clean-env.ts'
import { relayAddress } from './routes.ts'

/** Run for a moment in the sandbox's network only: it makes the socket there and hands it to us. */
const carpenter = `const socket = require('node:dgram').createSocket('udp4').bind(53, '${relayAddress}', () => process.send('names', socket))`

/** How many questions of one sandbox may be open; the oldest is dropped first, and its program asks again. */
const openQuestions = 200
const answerMs = 10_000

/** Takes questions to a name server at an address in a sandbox's network and asks a server that only the host can reach. */
export async function openNameRelay(
  enter: readonly string[],
  server: string,
  port = 53,
): Promise<{ readonly close: () => void }> {
  const inside = await socketInside(enter)
  const asking = new Map<Socket, NodeJS.Timeout>()
  const forget = (socket: Socket) => {
    clearTimeout(asking.get(socket))
    if (asking.delete(socket)) socket.close()
  }
  inside.on('error', () => {})
  inside.on('message', (question, from) => {
    const [oldest] = asking.keys()
    if (asking.size >= openQuestions && oldest) forget(oldest)
    const socket = createSocket(isIPv6(server) ? 'udp6' : 'udp4')
    asking.set(
      socket,
      setTimeout(() => forget(socket), answerMs),
    )
    socket.on('error', () => forget(socket))
    socket.on('message', (answer) => {
      inside.send(answer, from.port, from.address, () => {})
      forget(socket)
    })
    socket.send(question, port, server, () => {})
  })
  inside.unref()
  return {
    close: () => {
      for (const socket of [...asking.keys()]) forget(socket)
      inside.close()
    },
  }
}

async function socketInside(enter: readonly string[]): Promise<Socket> {
  const child = await spawnProcess('nsenter', [...enter, process.execPath, '-e', carpenter], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: cleanEnv,
    cwd: '/',
    detached: true,
  })
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2000)
  })
  const handed = once(child, 'message').then(
    ([, socket]: unknown[]) => socket,
    () => null,
  )
  const gone = once(child, 'exit').then(
    () => null,
    () => null,
  )
  const socket = await Promise.race([handed, gone])
  child.kill('SIGKILL')
  await gone
  if (socket instanceof Socket) return socket
  const message = `cannot give a sandbox its name server: ${complaint.trim().slice(0, 300)}`
  throw new BoundaryError('sandbox', message, exhaustionCause(complaint))
}
