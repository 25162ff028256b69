import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fails, json, type ModelServer, says, startModelServer } from '../../../../test/fakes/model-server.ts'
import type { Engine, ModelReply, ModelRequest } from '../../../core/model.ts'
import anthropic from '../../anthropic.ts'
import none from '../../none.ts'
import openai from '../../openai.ts'
import compatible from '../../openai-compatible.ts'

let server: ModelServer
beforeEach(async () => {
  server = await startModelServer()
})
afterEach(() => server.close())

const hello: ModelRequest = { messages: [{ role: 'user', content: 'hello' }] }
const signal = new AbortController().signal

function engine(options: Record<string, unknown> = {}, stateDir = '/nonexistent'): Engine {
  const all = { api_base: `${server.origin}/v1`, min_wait_sec: 0.001, healthcheck_retry_delay: 0.001, ...options }
  return compatible.make(compatible.options.parse(all), { env: {}, stateDir })
}

async function ask(made: Engine, request: ModelRequest = hello, model = 'm'): Promise<ModelReply> {
  const outcome = await made.client(model).complete(request)
  if (outcome.kind !== 'reply') throw new Error(outcome.kind)
  return outcome.reply
}

test('settings for every request are sent, and a request’s own win', async () => {
  const made = engine({
    request_params: { temperature: 0.1, max_tokens: 5, top_k: 3, stop: 'END' },
    headers: { 'x-team': 'blue' },
  })
  await ask(made, { ...hello, temperature: 0.9, extraBody: { min_p: 0.1 } })
  expect(server.requests[0]?.body).toMatchObject({
    temperature: 0.9,
    max_tokens: 5,
    top_k: 3,
    min_p: 0.1,
    stop: ['END'],
  })
  expect(server.requests[0]?.headers).toMatchObject({ 'x-team': 'blue' })
  expect(server.requests[0]?.headers.authorization).toBeUndefined()
})

test('wrong settings for every request are the user’s error', () => {
  expect(() => engine({ request_params: { temperature: 'hot' } })).toThrow(/request_params.temperature/)
})

test('a server that wants another name for the limit is asked so from then on', async () => {
  const refusal = fails(
    400,
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  )
  server.plan(refusal, says('ok'))
  const made = engine()
  expect(await ask(made, { ...hello, maxOutputTokens: 9 })).toMatchObject({ text: 'ok', attempts: 2 })
  expect(await ask(made, { ...hello, maxOutputTokens: 9 })).toMatchObject({ attempts: 1 })
  expect(server.requests.map(({ body }) => [body.max_tokens, body.max_completion_tokens])).toEqual([
    [9, undefined],
    [undefined, 9],
    [undefined, 9],
  ])
})

test('what a server refuses is left out from then on, and replies say so', async () => {
  server.plan((response, { body }) => {
    const refused = ['session_id', 'return_token_ids', 'temperature'].find((name) => body[name] !== undefined)
    const answer = refused ? fails(400, `Unrecognized request argument supplied: ${refused}`) : says('ok')
    answer(response, { method: '', path: '', headers: {}, body })
  })
  const made = engine()
  const request = { ...hello, temperature: 0.5, sessionId: 's', tokenDetails: true }
  expect((await ask(made, request)).dropped?.toSorted()).toEqual(['return_token_ids', 'session_id', 'temperature'])
  const sent = server.requests.length
  expect(await ask(made, hello)).not.toHaveProperty('dropped')
  await ask(made, request)
  expect(server.requests).toHaveLength(sent + 2)
})

test('a server that refuses the same for ever is not asked for ever', async () => {
  server.plan((response, { body }) => {
    const name = body.max_tokens === undefined ? 'max_completion_tokens' : 'max_tokens'
    fails(400, `Unsupported parameter: ${name}`)(response, { method: '', path: '', headers: {}, body })
  })
  await expect(ask(engine(), { ...hello, maxOutputTokens: 9 })).rejects.toMatchObject({ code: 'BadRequestError' })
  expect(server.requests.length).toBeLessThan(10)
})

test.each([
  ['m', ['m'], 'm'],
  ['hosted_vllm/m', ['m'], 'm'],
  ['openai/gpt-oss', ['openai/gpt-oss'], 'openai/gpt-oss'],
  ['openai/gpt-oss', ['gpt-oss'], 'gpt-oss'],
  ['nvidia/Nemotron', ['nvidia/Nemotron', 'Nemotron'], 'nvidia/Nemotron'],
])('%s is asked for by the name a server with %j knows', async (model, listed, name) => {
  server.planList(json({ data: listed.map((id) => ({ id })) }))
  const made = engine({ model })
  await ask(made, hello, model)
  expect(server.requests[0]?.body.model).toBe(name)
  expect(made.endpoint?.modelName).toBe(name)
})

test('a model that is not served is an error before anything is asked', async () => {
  await expect(ask(engine(), hello, 'other')).rejects.toMatchObject({
    code: 'ModelNotFoundError',
    retryable: false,
    message: expect.stringContaining('it serves m'),
  })
  expect(server.requests).toEqual([])
})

test('concurrent calls check the server once, and later ones only after the interval', async () => {
  const made = engine()
  await Promise.all(Array.from({ length: 50 }, () => ask(made)))
  await ask(made)
  expect(server.listRequests).toHaveLength(1)
  expect(server.requests).toHaveLength(51)
})

test('an old check is made again, and a server that went down meanwhile is waited for', async () => {
  server.planList(
    json({ data: [{ id: 'm' }] }),
    fails(503, 'loading'),
    fails(503, 'loading'),
    json({ data: [{ id: 'm' }] }),
  )
  const made = engine({ healthcheck_interval: 0.0001 })
  await ask(made)
  await new Promise((resolve) => setTimeout(resolve, 5))
  await ask(made)
  expect(server.listRequests).toHaveLength(4)
})

test('with an interval of 0 the server is never looked at unasked', async () => {
  await ask(engine({ healthcheck_interval: 0 }))
  expect(server.listRequests).toEqual([])
})

test('an address without its /v1 gets a hint', async () => {
  server.planList(fails(404, 'Not Found'))
  server.plan(fails(404, 'Not Found'))
  const made = engine({ model: 'm' })
  expect(await made.health(signal)).toMatchObject({ healthy: false, reason: expect.stringContaining('needs /v1') })
})

test('the server’s context size completes the user’s facts', async () => {
  const made = engine({ model: 'm', model_info: { max_output_tokens: 7, input_cost_per_token: 1 } })
  const client = made.client('m')
  expect(client.facts).toMatchObject({ contextTokens: null, outputTokens: 7 })
  await made.health(signal)
  expect(client.facts).toMatchObject({ contextTokens: 4096, outputTokens: 7, inputUsdPerToken: 1 })
  const told = engine({ model: 'm', model_info: { max_input_tokens: 100 } })
  await told.health(signal)
  expect(told.client('m').facts.contextTokens).toBe(100)
})

test('token counts are corrected by what the server counts', async () => {
  const client = engine().client('m')
  expect(client.countTokens(hello.messages)).toMatchObject({ exact: false })
  await client.complete(hello)
  expect(client.countTokens(hello.messages)).toEqual({ tokens: 11, exact: true })
  const longer = client.countTokens([...hello.messages, { role: 'assistant', content: 'hello to you' }])
  expect(longer.exact).toBe(false)
  expect(longer.tokens).toBeGreaterThan(11)
})

test('kept replies are given again for equal requests, for nothing, until they are too old', async () => {
  const stateDir = await mkdtemp(join(tmpdir(), 'responses-'))
  const prices = { input_cost_per_token: 1, output_cost_per_token: 1 }
  const made = () => engine({ cache: {}, model_info: prices }, stateDir)
  const first = await ask(made(), { ...hello, sessionId: 'one' })
  expect(first).toMatchObject({ costUsd: 14, attempts: 1 })
  server.plan(says('other'))
  expect(await ask(made(), { ...hello, sessionId: 'two' })).toEqual({ ...first, costUsd: 0, attempts: 0, latencyMs: 0 })
  expect(await ask(made(), { ...hello, temperature: 0.5 })).toMatchObject({ text: 'other' })
  expect(await ask(engine({ cache: { ttl_sec: 0.001 } }, stateDir))).toMatchObject({ text: 'other' })
})

test('a missing key is two lines before anything starts', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a template of ours.
  const template = '${MINE}'
  const make = (env: Record<string, string>, options = {}) =>
    openai.make(openai.options.parse(options), { env, stateDir: '' })
  expect(() => make({})).toThrow(/expected a key in the environment variable OPENAI_API_KEY, found nothing/)
  expect(() => make({ OPENAI_API_KEY: '  ' })).toThrow(/OPENAI_API_KEY/)
  expect(() => make({ OPENAI_API_KEY: 'x' }, { api_key_env: 'MINE' })).toThrow(/variable MINE/)
  expect(() => make({ OPENAI_API_KEY: 'a b' })).toThrow(/not shown|printable/)
  expect(make({ OPENAI_API_KEY: 'x' }).endpoint?.apiKey).toBe('x')
  expect(make({ MINE: 'y' }, { api_key: template }).endpoint?.apiKey).toBe('y')
  expect(() => make({}, { api_key: template })).toThrow(/MINE/)
})

test('an engine without a model server refuses to make a client', async () => {
  const made = none.make({}, { env: {}, stateDir: '' })
  expect(await made.health(signal)).toEqual({ healthy: true })
  expect(() => made.client('m')).toThrow(/expected an engine for the model/)
})

test('endpoints say where they are, and where their metrics are', () => {
  expect(engine().endpoint).toEqual({
    baseUrls: [`${server.origin}/v1`],
    modelName: null,
    apiKey: null,
    metricsUrls: [`${server.origin}/metrics`],
  })
  const made = anthropic.make(anthropic.options.parse({ model: 'anthropic/claude-x' }), {
    env: { ANTHROPIC_API_KEY: 'k' },
    stateDir: '',
  })
  expect(made.endpoint).toEqual({
    baseUrls: ['https://api.anthropic.com'],
    modelName: 'claude-x',
    apiKey: 'k',
    metricsUrls: [],
  })
})

test('a limit on requests holds across clients', async () => {
  const made = engine({ rpm: 6 })
  await ask(made)
  await expect(made.client('m').complete(hello, { timeoutSec: 0.05 })).rejects.toMatchObject({
    code: 'ApiTimeoutError',
  })
  expect(server.requests).toHaveLength(1)
})
