import { createServer, type Server } from 'node:http'
import { afterAll, expect, test } from 'vitest'
import { serveBalanced } from './balance.ts'

const open: Server[] = []
afterAll(() => {
  for (const server of open) {
    server.closeAllConnections()
    server.close()
  }
})

/** A server that says its name and what it was sent, when it is let go on. */
async function named(name: string, until: Promise<unknown> = Promise.resolve(), onAsked = () => {}): Promise<string> {
  const server = createServer(async (asked, answer) => {
    const chunks: Buffer[] = []
    for await (const chunk of asked) chunks.push(chunk)
    onAsked()
    await until
    answer.writeHead(asked.url === '/wrong' ? 418 : 200, { 'x-name': name })
    answer.write(`${name} ${asked.method} ${asked.url} `)
    answer.end(Buffer.concat(chunks))
  })
  open.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${Object(server.address()).port}`
}

test('a request goes to the server with the fewest open ones, as it was sent', async () => {
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  let isAsked = () => {}
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve
  })
  const balancer = await serveBalanced([await named('slow', held, isAsked), await named('quick')], '127.0.0.1', 0)
  const first = fetch(`${balancer.origin}/v1/chat`, { method: 'POST', body: 'one' })
  // The first is open for as long as we want, so all others go to the second.
  await asked
  for (let i = 0; i < 3; i++) {
    const answer = await fetch(`${balancer.origin}/v1/chat`, { method: 'POST', body: 'zwei ü' })
    expect(await answer.text()).toBe('quick POST /v1/chat zwei ü')
  }
  letGo()
  expect(await (await first).text()).toBe('slow POST /v1/chat one')
  await balancer.close()
})

test('a server that cannot be reached is passed over; an answer that says no is passed on', async () => {
  const balancer = await serveBalanced(['http://127.0.0.1:9', await named('there')], '127.0.0.1', 0)
  expect(await (await fetch(`${balancer.origin}/a`)).text()).toBe('there GET /a ')
  expect((await fetch(`${balancer.origin}/wrong`)).status).toBe(418)
  await balancer.close()
})

test('without any server there is an answer that says so', async () => {
  const balancer = await serveBalanced(['http://127.0.0.1:9'], '127.0.0.1', 0)
  const answer = await fetch(`${balancer.origin}/a`)
  expect(answer.status).toBe(503)
  expect(await answer.text()).toContain('no server behind this address')
  await balancer.close()
})
