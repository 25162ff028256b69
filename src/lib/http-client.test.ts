import { type AddressInfo, createServer } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type Behaviour,
  bytes,
  hangsUp,
  type ModelServer,
  silent,
  startModelServer,
} from '../../test/fakes/model-server.ts'
import { type HttpCall, HttpFailure, makeHttpClient } from './http-client.ts'

let server: ModelServer
beforeEach(async () => {
  server = await startModelServer()
})
afterEach(() => server.close())

const http = makeHttpClient()

function call(changes: Partial<HttpCall> = {}): HttpCall {
  return {
    method: 'POST',
    url: `${server.origin}/x?y=1`,
    headers: {},
    body: '{}',
    timeoutMs: 30_000,
    limitBytes: 1000,
    ...changes,
  }
}

test('any status is an answer, with its headers and body', async () => {
  server.plan(bytes('nope', 418))
  const answer = await http.send(call({ headers: { 'x-mine': 'yes' } }))
  expect(answer.status).toBe(418)
  expect(answer.headers['content-type']).toBe('application/json')
  expect(answer.body.toString()).toBe('nope')
  expect(server.requests[0]).toMatchObject({ method: 'POST', path: '/x?y=1', headers: { 'x-mine': 'yes' } })
})

test('an answer above the limit is refused, one at the limit is not', async () => {
  server.plan(bytes('x'.repeat(1001)), bytes('x'.repeat(1000)))
  await expect(http.send(call())).rejects.toMatchObject({ trouble: 'too-large' })
  expect((await http.send(call())).body).toHaveLength(1000)
})

test('pieces of a good answer go to `onChunk`, which may stop early', async () => {
  server.plan((response) => {
    response.writeHead(200)
    response.write('first')
  })
  const heard: string[] = []
  const answer = await http.send(call({ onChunk: (chunk) => heard.push(chunk.toString()) > 0 }))
  expect([heard, answer.body.length]).toEqual([['first'], 0])
})

test('a bad answer is kept whole even with `onChunk`', async () => {
  server.plan(bytes('why', 500))
  const answer = await http.send(call({ onChunk: () => expect.unreachable() }))
  expect(answer.body.toString()).toBe('why')
})

test.each([
  ['nobody is there', () => call({ url: 'http://127.0.0.1:1/' }), 'connection'],
  ['the name does not exist', () => call({ url: 'http://no-such-host.invalid/' }), 'connection'],
  ['the server hangs up', () => call(), 'connection'],
  ['a header cannot be sent', () => call({ headers: { 'x-mine': 'a\nb' } }), 'connection'],
])('when %s, it is a failure with a message', async (_, make, trouble) => {
  server.plan(hangsUp)
  const failure = await http.send(make()).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(HttpFailure)
  expect(failure).toMatchObject({ trouble, message: expect.stringMatching(/\S/) })
})

test('time is up even when the server says nothing at all', async () => {
  server.plan(silent)
  await expect(http.send(call({ timeoutMs: 50 }))).rejects.toMatchObject({ trouble: 'timeout' })
})

test('an abort rejects with its reason, before and during a call', async () => {
  server.plan(silent)
  const reason = new Error('enough')
  await expect(http.send(call({ signal: AbortSignal.abort(reason) }))).rejects.toBe(reason)
  const controller = new AbortController()
  const sending = http.send(call({ signal: controller.signal }))
  setTimeout(() => controller.abort(reason), 20)
  await expect(sending).rejects.toBe(reason)
})

test('many connections are open at once, and they are reused', async () => {
  const ports = new Set<number | undefined>()
  const waiting: (() => void)[] = []
  let allThere = false
  // Answers no request before all have arrived.
  const remember: Behaviour = (response) => {
    ports.add(response.socket?.remotePort)
    waiting.push(() => response.end('{}'))
    allThere ||= waiting.length === 100
    if (allThere) for (const answer of waiting.splice(0)) answer()
  }
  server.plan(remember)
  await Promise.all(Array.from({ length: 100 }, () => http.send(call())))
  expect(ports.size).toBe(100)
  for (let i = 0; i < 100; i++) await http.send(call())
  expect(ports.size).toBeLessThan(200)
})

test('a proxy is used for other machines and never for this one', async () => {
  const asked: string[] = []
  const proxy = createServer((socket) => {
    socket.once('data', (bytes) => {
      asked.push(bytes.toString().split('\r\n')[0] ?? '')
      socket.end('HTTP/1.1 502 no\r\n\r\n')
    })
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const address = proxy.address() as AddressInfo
  const proxied = makeHttpClient({ http_proxy: `http://127.0.0.1:${address.port}` })
  server.plan(bytes('direct'))
  expect((await proxied.send(call())).body.toString()).toBe('direct')
  expect(asked).toEqual([])
  await proxied.send(call({ url: 'http://somewhere.invalid/z', timeoutMs: 30_000 })).catch(() => {})
  expect(asked).toEqual([expect.stringContaining('somewhere.invalid')])
  proxy.close()
})
