import { afterEach, expect, test } from 'vitest'
import type { Engine } from '../src/core/model.ts'
import compatible from '../src/engines/openai-compatible.ts'
import scripted from '../src/engines/scripted/index.ts'
import { makeHealthCheck } from '../src/engines/shared/client/health.ts'
import { type Replica, Replicas } from '../src/engines/shared/client/replicas.ts'
import { openaiChat } from '../src/formats/openai-chat.ts'
import { makeHttpClient } from '../src/lib/http-client.ts'
import { type ServedModelService, serveModel } from '../src/server/serve-model.ts'

const context = { env: {}, stateDir: '/nonexistent' }
const hello = { messages: [{ role: 'user', content: 'hello' }] as const }
const signal = new AbortController().signal

interface StandIn {
  readonly origin: string
  readonly asked: () => number
  close(): Promise<void>
}

const open: ServedModelService[] = []
afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
})

/** A stand-in for a model at an address, which counts its calls. */
async function standIn(options: object = {}, port = 0): Promise<StandIn> {
  let asked = 0
  const log = (line: string) => {
    if (line.startsWith('POST')) asked++
  }
  const { service } = scripted.make(scripted.options.parse({ model: 'm', ...options }), context)
  const server = await serveModel(service, { host: '127.0.0.1', port, apiKey: null, log })
  open.push(server)
  return { origin: server.origin, asked: () => asked, close: server.close }
}

function engineOver(servers: readonly StandIn[]): Engine {
  const api_base = servers.map(({ origin }) => `${origin}/v1`).join(',')
  return compatible.make(compatible.options.parse({ api_base, max_attempts: 1, healthcheck_max_attempts: 1 }), context)
}

test('calls that are under way at once are spread evenly over all addresses', async () => {
  const servers = await Promise.all([1, 2, 3].map(() => standIn({ latency_ms: 200 })))
  const engine = engineOver(servers)
  await Promise.all(Array.from({ length: 30 }, () => engine.client('m').complete(hello)))
  expect(servers.map(({ asked }) => asked())).toEqual([10, 10, 10])
  expect(engine.endpoint?.metricsUrls).toEqual(servers.map(({ origin }) => `${origin}/metrics`))
})

test('a conversation stays where its beginning is cached, and conversations begin where it is quiet', async () => {
  const servers = await Promise.all([standIn(), standIn()])
  const engine = engineOver(servers)
  const [first, second] = [engine.client('m'), engine.client('m')]
  for (let turn = 0; turn < 5; turn++) for (const client of [first, second]) await client.complete(hello)
  expect(servers.map(({ asked }) => asked())).toEqual([5, 5])
})

test('an address that dies in the middle loses no call, though no request is tried twice at one address', async () => {
  const servers = await Promise.all([1, 2, 3].map(() => standIn({ latency_ms: { min: 5, max: 40 } })))
  const engine = engineOver(servers)
  let answered = 0
  const talk = async () => {
    const client = engine.client('m')
    for (let turn = 0; turn < 4; turn++) {
      const { kind } = await client.complete(hello)
      if (kind === 'reply' && ++answered === 10) await servers[1]?.close()
    }
  }
  await Promise.all(Array.from({ length: 20 }, talk))
  expect(answered).toBe(80)
  expect(servers[1]?.asked()).toBeLessThan(80)
  expect(await engine.health(signal)).toMatchObject({ healthy: true, down: expect.stringContaining('no model server') })
})

test('an address that was never there is passed over; without any there is one failure that says so', async () => {
  const gone = await standIn()
  await gone.close()
  const there = await standIn()
  const engine = engineOver([gone, there])
  for (let i = 0; i < 4; i++) expect(await engine.client('m').complete(hello)).toMatchObject({ kind: 'reply' })
  expect(there.asked()).toBe(4)
  await there.close()
  await expect(engine.client('m').complete(hello)).rejects.toMatchObject({ code: 'ApiConnectionError' })
})

test('an address that failed is avoided for a while, checked alongside the calls, and used again when it responds', async () => {
  let now = 0
  const [quiet, other] = await Promise.all([standIn(), standIn()])
  const all = [quiet, other].map(replicaAt)
  const [first, second] = all as [Replica, Replica]
  const replicas = new Replicas([first, second], () => now)
  const next = () => {
    const seat = replicas.take('m', null, null)
    seat.leave()
    return seat.replica
  }
  await quiet.close()
  for (let i = 0; i < 100; i++) expect(replicas.setAside(first)).toBe(true)
  expect([next(), next(), next()]).toEqual([second, second, second])
  now += 10_000
  expect(next()).toBe(second)
  // The check that follows finds no server and counts as the second failure.
  const back = await standIn({}, Number(new URL(quiet.origin).port))
  const later = () => {
    now += 400_000
    return next()
  }
  await expect.poll(() => later() === first).toBe(true)
  expect(back.asked()).toBe(0)
})

test('the usual address is kept until it is clearly busier than another', async () => {
  const servers = await Promise.all([standIn(), standIn()])
  const [usual, other] = servers.map(replicaAt) as [Replica, Replica]
  const replicas = new Replicas([usual, other])
  const taken = Array.from({ length: 6 }, () => replicas.take('m', usual, null).replica)
  expect(taken).toEqual([usual, usual, usual, usual, usual, other])
  expect(replicas.take('m', usual, usual).replica).toBe(other)
})

function replicaAt({ origin }: StandIn): Replica {
  const dialect = openaiChat({ reasoningField: null })
  const wire = { http: makeHttpClient(), dialect, base: `${origin}/v1`, headers: {}, hide: (text: string) => text }
  const health = makeHealthCheck(wire, { intervalMs: 0, maxAttempts: 1, retryDelayMs: 0, ownPrefixes: [] })
  return { wire, health }
}
