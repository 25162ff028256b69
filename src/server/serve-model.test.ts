import { request } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import scripted from '../engines/scripted/index.ts'
import type { ModelService, ServiceAnswer } from '../formats/dialect-server/model-service.ts'
import { parseMetrics } from '../lib/prometheus.ts'
import { type ServedModelService, serveModel } from './serve-model.ts'

const open: ServedModelService[] = []
afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
})

async function serve(service: ModelService, apiKey: string | null = null, log?: (line: string) => void) {
  const server = await serveModel(service, { host: '127.0.0.1', port: 0, apiKey, ...(log && { log }) })
  open.push(server)
  return server.origin
}

function standIn(options: object = {}): ModelService {
  return scripted.make(scripted.options.parse(options), { env: {}, stateDir: '/nonexistent' }).service
}

/** A service that answers with the given function. */
function serviceThat(answer: ModelService['answer']): ModelService {
  return {
    prepare: async () => {},
    models: async () => [{ id: 'm', contextTokens: null, outputTokens: null }],
    load: () => ({ running: 0, waiting: 0, cacheUse: 0 }),
    answer,
  }
}

const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) })

/** The status of the answer to a request whose body never arrives. */
function statusOf(url: string, headers: Record<string, string>, method = 'GET'): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { method, headers, agent: false }, (answer) => {
      resolve(answer.statusCode)
      asking.destroy()
    })
    asking.on('error', reject)
    if (method === 'GET') asking.end()
    else asking.flushHeaders()
  })
}

const chat = { model: 'scripted', messages: [{ role: 'user', content: 'hello' }] }

describe('pages', () => {
  test('the model is listed for callers of every API, and alone by its name', async () => {
    const origin = await serve(standIn({ model: 'org/m' }))
    for (const path of ['/v1/models', '/models']) {
      expect(await (await fetch(origin + path)).json()).toMatchObject({
        data: [{ id: 'org/m', max_model_len: 131_072 }],
      })
    }
    expect(await (await fetch(`${origin}/v1/models/org%2Fm`)).json()).toMatchObject({ id: 'org/m', type: 'model' })
    expect(await (await fetch(`${origin}/v1beta/models`)).json()).toMatchObject({ models: [{ name: 'models/org/m' }] })
    expect((await fetch(`${origin}/v1/models/other`)).status).toBe(404)
  })

  test('health is an empty page, and unknown paths are not found', async () => {
    const origin = await serve(standIn())
    expect((await fetch(`${origin}/health`)).status).toBe(200)
    expect((await fetch(`${origin}/no/such`)).status).toBe(404)
    expect((await post(`${origin}/v1/completions`, {})).status).toBe(404)
  })

  test('metrics show who is answered and who waits', async () => {
    const origin = await serve(standIn({ max_running: 2, latency_ms: 60_000 }))
    const calls = Array.from({ length: 5 }, () => post(`${origin}/v1/chat/completions`, chat).catch(() => null))
    const gauges = async () => {
      const samples = parseMetrics(await (await fetch(`${origin}/metrics`)).text())
      return Object.fromEntries(samples.map(({ name, value }) => [name, value]))
    }
    while ((await gauges())['vllm:num_requests_waiting'] !== 3) await new Promise((resolve) => setTimeout(resolve, 5))
    const { 'vllm:num_requests_running': running, 'vllm:gpu_cache_usage_perc': use } = await gauges()
    expect(running).toBe(2)
    expect(use).toBeGreaterThan(0)
    await open.splice(0)[0]?.close()
    await Promise.all(calls)
  })
})

describe('calls', () => {
  test('what is no JSON and what is no request is refused in the words of the API', async () => {
    const origin = await serve(standIn())
    const broken = await post(`${origin}/v1/chat/completions`, '{"model":')
    expect([broken.status, await broken.json()]).toMatchObject([400, { error: { type: 'invalid_request_error' } }])
    const empty = await post(`${origin}/v1/messages`, {})
    expect([empty.status, await empty.json()]).toMatchObject([
      400,
      { type: 'error', error: { type: 'invalid_request_error' } },
    ])
  })

  test('a key is wanted where one is set, in the place of each API', async () => {
    const origin = await serve(standIn(), 'sesame')
    const url = `${origin}/v1/chat/completions`
    expect((await post(url, chat)).status).toBe(401)
    expect((await post(url, chat, { authorization: 'Bearer wrong' })).status).toBe(401)
    for (const headers of [
      { authorization: 'Bearer sesame' },
      { 'x-api-key': 'sesame' },
      { 'x-goog-api-key': 'sesame' },
    ]) {
      expect((await post(url, chat, headers as Record<string, string>)).status).toBe(200)
    }
    expect((await post(`${url}?key=sesame`, chat)).status).toBe(200)
    for (const page of ['health', 'metrics']) expect((await fetch(`${origin}/${page}`)).status).toBe(200)
  })

  test.each([
    ['a name that points here', { host: 'evil.example' }, 403],
    ['a page of the web', { origin: 'https://evil.example' }, 403],
    ['a page without an origin', { origin: 'null' }, 403],
    ['a name of this machine', { host: 'node7:8000' }, 200],
    ['an address of this machine', { host: '192.0.2.7:8000' }, 200],
    ['loopback', { host: 'localhost:1234', origin: 'http://localhost:3000' }, 200],
  ])('%s is answered as it should be', async (_, headers, status) => {
    const server = await serveModel(standIn(), { host: '127.0.0.1', port: 0, apiKey: null, names: ['node7'] })
    open.push(server)
    expect(await statusOf(`${server.origin}/v1/models`, headers)).toBe(status)
  })

  test('who has the key may use any name, but no page of the web may', async () => {
    const url = `${await serve(standIn(), 'sesame')}/v1/models`
    const authorization = 'Bearer sesame'
    expect(await statusOf(url, { host: 'anything.example', authorization })).toBe(200)
    expect(await statusOf(url, { host: 'anything.example' })).toBe(401)
    expect(await statusOf(url, { origin: 'https://evil.example', authorization })).toBe(403)
  })

  test('a body that says it is too long is refused before it is sent', async () => {
    const origin = await serve(standIn())
    const headers = { 'content-length': String(1 << 30) }
    expect(await statusOf(`${origin}/v1/chat/completions`, headers, 'POST')).toBe(413)
  })

  test('only the first hundred refused requests are logged', async () => {
    const lines: string[] = []
    const origin = await serve(standIn(), 'sesame', (line) => lines.push(line))
    for (let i = 0; i < 120; i++) await statusOf(`${origin}/v1/models`, {})
    await (await post(`${origin}/v1/chat/completions?key=sesame`, chat)).text()
    while (!lines.at(-1)?.includes(' 200 ')) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(lines).toHaveLength(101)
  })

  test('each request is logged in one line without its query', async () => {
    const lines: string[] = []
    const origin = await serve(standIn(), 'sesame', (line) => lines.push(line))
    await (await post(`${origin}/v1/chat/completions?key=sesame`, chat)).text()
    while (lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(lines[0]).toMatch(/^POST \/v1\/chat\/completions 200 \d+ ms$/)
  })

  test('a service that throws is a failure of the server', async () => {
    const origin = await serve(serviceThat(() => Promise.reject(new Error('oops'))))
    const answer = await post(`${origin}/v1/chat/completions`, chat)
    expect([answer.status, await answer.json()]).toMatchObject([500, { error: { message: 'oops' } }])
  })

  test('a caller that hangs up is heard by the service', async () => {
    let heard = () => {}
    const gone = new Promise<void>((resolve) => {
      heard = resolve
    })
    const origin = await serve(
      serviceThat(
        (_, signal) =>
          new Promise<ServiceAnswer>((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              heard()
              reject(signal.reason)
            })
            call.destroy()
          }),
      ),
    )
    const call = request(`${origin}/v1/chat/completions`, { method: 'POST' })
    call.on('error', () => {})
    call.end(JSON.stringify(chat))
    await gone
  })

  test('a port that is in use is the user’s mistake', async () => {
    const origin = await serve(standIn())
    const port = Number(new URL(origin).port)
    await expect(serveModel(standIn(), { host: '127.0.0.1', port, apiKey: null })).rejects.toMatchObject({
      name: 'UserError',
      message: expect.stringContaining('in use'),
    })
  })
})
