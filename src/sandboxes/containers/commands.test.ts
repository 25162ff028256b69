import { Duplex } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { Commands } from './commands.ts'
import type { ContainerEngine } from './container-engine.ts'

test('a container that is being started again is not left to end by itself, and is there when its commands are closed', async () => {
  let started = () => {}
  const starting = new Promise<void>((resolve) => {
    started = resolve
  })
  const ask = vi.fn(async ({ method }: { method: string }) => {
    if (method === 'GET') return { status: 200, body: { State: { Running: false } } }
    await starting
    return { status: 204, body: null }
  })
  const stream = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
  const engine = { ask, hijack: async () => stream } as unknown as ContainerEngine
  const commands = new Commands(engine, 'box', { user: '0', cwd: '/' })
  await commands.attach('0123456789abcdef')
  const reviving = commands.revive()
  await expect.poll(() => ask.mock.calls.length).toBe(2)
  expect(commands.leave()).toBe(false)
  let isClosed = false
  const closed = commands.close().then(() => {
    isClosed = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(isClosed).toBe(false)
  started()
  await Promise.all([reviving, closed])
})
