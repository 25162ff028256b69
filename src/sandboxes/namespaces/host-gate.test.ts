import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { AllowedHosts } from './allowed-hosts.ts'
import { openHostGate } from './host-gate.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => server.close())
  return (server.address() as AddressInfo).port
}

/** A server that echoes its request, and a gate that lets through the given hosts. */
async function open(hosts: readonly string[]) {
  const outside = createServer(async (incoming, response) => {
    response.end(`${incoming.method} ${incoming.url} ${incoming.headers.host} ${await text(incoming)}`)
  })
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
  const gate = openHostGate(new AllowedHosts(hosts, resolve))
  const tcp = createTcpServer((socket) => gate.accept(socket))
  const port = await listen(outside)
  const gatePort = await listen(tcp)
  closing.push(() => gate.close())
  return { port, gatePort, gate }
}

async function ask(gatePort: number, url: string, body?: string, host = new URL(url).host) {
  const asking = request({ port: gatePort, host: '127.0.0.1', path: url, method: body ? 'POST' : 'GET', agent: false })
  asking.setHeader('host', host)
  asking.end(body)
  const [response] = await once(asking, 'response')
  return { status: response.statusCode, body: await text(response) }
}

test('a request to an allowed host is passed on whole, any other is refused', async () => {
  const { port, gatePort } = await open(['shop.test', '127.0.0.1'])
  expect(await ask(gatePort, `http://shop.test:${port}/a?b=c`, 'ask')).toEqual({
    status: 200,
    body: `POST /a?b=c shop.test:${port} ask`,
  })
  expect(await ask(gatePort, `http://other.test:${port}/`)).toMatchObject({
    status: 403,
    body: expect.stringContaining('not among the allowed hosts'),
  })
})

test('a host behind the same address as an allowed one is not reached by its name alone', async () => {
  const { port, gatePort } = await open(['shop.test', '127.0.0.1'])
  const { body } = await ask(gatePort, `http://shop.test:${port}/a`, 'ask', 'other.test')
  expect(body).toBe(`POST /a shop.test:${port} ask`)
})

test('what a client says before it is let through arrives too', async () => {
  const { port, gatePort } = await open(['shop.test', '127.0.0.1'])
  const socket = connect(gatePort, '127.0.0.1')
  const asked = 'GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'
  socket.write(`CONNECT shop.test:${port} HTTP/1.1\r\nHost: shop.test\r\n\r\n${asked}`)
  expect(await text(socket)).toMatch(/^HTTP\/1.1 200 [\s\S]*GET \/x h $/)
})

test('a tunnel carries bytes both ways, and only to allowed hosts', async () => {
  const { port, gatePort } = await open(['shop.test', '127.0.0.1'])
  const say = async (host: string) => {
    const socket = connect(gatePort, '127.0.0.1')
    socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`)
    const [answer] = await once(socket, 'data')
    if (String(answer).startsWith('HTTP/1.1 200'))
      socket.write('GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
    return String(answer) + (await text(socket))
  }
  expect(await say('shop.test')).toMatch(/^HTTP\/1.1 200 [\s\S]*GET \/x h $/)
  expect(await say('other.test')).toMatch(/^HTTP\/1.1 403 /)
})

test('what is not a proxy request gets an answer, and a host that is silent one too', async () => {
  const { gatePort } = await open(['shop.test', '127.0.0.1'])
  const socket = connect(gatePort, '127.0.0.1')
  socket.end('GET /just/a/path HTTP/1.1\r\nHost: shop.test\r\n\r\n')
  expect(await text(socket)).toMatch(/^HTTP\/1.1 403 /)
  expect((await ask(gatePort, 'http://shop.test:1/')).status).toBe(403)
})

test('closing a gate ends the connections through it', async () => {
  const { port, gatePort, gate } = await open(['shop.test', '127.0.0.1'])
  const socket = connect(gatePort, '127.0.0.1')
  socket.write(`CONNECT shop.test:${port} HTTP/1.1\r\n\r\n`)
  await once(socket, 'data')
  gate.close()
  await once(socket, 'close')
})
