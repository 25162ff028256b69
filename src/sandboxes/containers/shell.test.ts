import { Duplex } from 'node:stream'
import { expect, test } from 'vitest'
import type { ContainerEngine } from './container-engine.ts'
import { Shell } from './shell.ts'

test('a shell of the agent’s that only prints is abandoned before it fills our memory', async () => {
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

test('the loss of a shell on the streams of process 1 is heard while it runs a command and while it waits, in pieces too', async () => {
  const lostMark = '0123456789abcdef'
  for (const isIdle of [false, true]) {
    const stream = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
    const engine = { hijack: async () => stream } as unknown as ContainerEngine
    const shell = await Shell.attach(engine, 'box', lostMark)
    let said = ''
    const run = () =>
      shell.run('true\n', 'mark', {
        stdout: (chunk) => {
          said += chunk
          return true
        },
        stderr: () => true,
      })
    const running = isIdle ? null : run()
    stream.push(frame(2, 'mark'))
    for (const piece of ['printed 0123', '4567 and 01', '23456789', 'abcdef']) stream.push(frame(1, piece))
    if (isIdle) await expect.poll(() => shell.alive).toBe(false)
    expect(await (running ?? run())).toEqual({ kind: 'lost', started: !isIdle })
    expect(said).toBe(isIdle ? '' : 'printed 01234567 and ')
    shell.close()
  }
})

function frame(channel: number, text: string): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt8(channel)
  head.writeUInt32BE(Buffer.byteLength(text), 4)
  return Buffer.concat([head, Buffer.from(text)])
}
