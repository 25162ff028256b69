import type { Duplex } from 'node:stream'
import { expect, test } from 'vitest'
import { openDoor } from './door.ts'
import type { CloudMachine } from './machine.ts'

test('a program that connects before the start of the listener was answered is served', async () => {
  const written: string[] = []
  const stream: CloudMachine['stream'] = async (_, onLine) => {
    onLine('port 4321')
    onLine('open 1')
    onLine(`data 1 ${Buffer.from('hello').toString('base64')}`)
    return { write: async (text) => void written.push(text), kill: async () => {}, exited: new Promise(() => {}) }
  }
  const echo = (socket: Duplex) => void socket.on('data', (chunk) => socket.write(chunk))
  const door = await openDoor({ stream } as CloudMachine, echo)
  expect(door.url).toBe('http://127.0.0.1:4321')
  await expect.poll(() => written.join('')).toContain(`data 1 ${Buffer.from('hello').toString('base64')}\n`)
  await door.close()
})
