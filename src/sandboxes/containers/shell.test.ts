import { Duplex } from 'node:stream'
import { expect, test } from 'vitest'
import type { ContainerEngine } from './container-engine.ts'
import { Shell } from './shell.ts'

test('a shell of the agent’s own that only prints is given up before it fills our memory', async () => {
  const stream = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
  const engine = {
    ask: async () => ({ status: 201, body: { Id: 'one' } }),
    hijack: async () => stream,
  } as unknown as ContainerEngine
  const shell = await Shell.open(engine, 'box', '0')
  const end = shell.run('true\n', 'mark', { stdout: () => true, stderr: () => true })
  const frame = Buffer.alloc(8 + 2 ** 20)
  frame.writeUInt8(1)
  frame.writeUInt32BE(2 ** 20, 4)
  for (let megabytes = 0; megabytes < 80; megabytes++) stream.push(frame)
  expect(await end).toEqual({ kind: 'lost', started: true })
  shell.close()
})
