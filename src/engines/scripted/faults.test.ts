import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { ChatMessage, ModelClient, ModelRequest } from '../../core/model.ts'
import { type ServedModelService, serveModel } from '../../server/serve-model.ts'
import compatible from '../openai-compatible.ts'
import { faultAt } from './fault.ts'
import scripted from './index.ts'

const context = { env: {}, stateDir: '/nonexistent' }
const impatient = { min_wait_sec: 0.001, max_attempts: 2, request_timeout_sec: 2 }
const first = 'Answer with {"commands": [{"keystrokes": ""}]}. Count the lines.'
const request: ModelRequest = { messages: [{ role: 'user', content: first }] }
const script = join(tmpdir(), 'script.json')
await writeFile(script, JSON.stringify([{ plan: 'count them', commands: ['wc -l *\n'] }]))

const open: ServedModelService[] = []
afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
})

function engineWith(options: object) {
  return scripted.make(scripted.options.parse({ script, ...impatient, ...options }), context)
}

/** The same stand-in, reached in two ways by the same client. */
const ways: Record<string, (options: object, client?: object) => Promise<ModelClient>> = {
  'over HTTP': async (options, client = {}) => {
    const server = await serveModel(engineWith(options).service, { host: '127.0.0.1', port: 0, apiKey: null })
    open.push(server)
    const all = { api_base: `${server.origin}/v1`, ...impatient, ...client }
    return compatible.make(compatible.options.parse(all), context).client('scripted')
  },
  'in one process': async (options, client = {}) => engineWith({ ...options, ...client }).client('scripted'),
}

const fault = (kind: string, more: object = {}) => ({ faults: [{ kind, ...more }] })
const always = { times: 'always' }

describe.each(Object.entries(ways))('%s', (_, clientFor) => {
  const complete = async (options: object, client: object = {}) => (await clientFor(options, client)).complete(request)

  test('a good turn is a reply, counted, the same each time', async () => {
    const outcome = await complete({})
    expect(outcome).toMatchObject({ kind: 'reply', reply: { finish: 'stop', attempts: 1 } })
    if (outcome.kind !== 'reply') return
    const { text, usage } = outcome.reply
    expect(JSON.parse(text)).toMatchObject({ plan: 'count them', commands: [{ keystrokes: 'wc -l *\n' }] })
    expect(usage).toEqual({
      inputTokens: 3 + Math.ceil(`user${first}`.length / 4),
      cacheTokens: 0,
      outputTokens: Math.ceil(text.length / 4),
    })
    const { latencyMs: __, ...again } = ((await complete({})) as typeof outcome).reply
    expect(outcome.reply).toMatchObject(again)
  })

  test.each([
    ['auth', 'AuthenticationError', false],
    ['rate-limit', 'RateLimitError', true],
    ['server-error', 'InternalServerError', true],
    ['drop', 'ApiConnectionError', true],
    ['proxy-page', 'InternalServerError', true],
    ['not-json', 'MalformedReplyError', true],
    ['cut', 'ApiConnectionError', true],
  ])('%s for ever ends as %s', async (kind, code, retryable) => {
    await expect(complete(fault(kind, always))).rejects.toMatchObject({ boundary: 'model', code, retryable })
    if (kind === 'not-json') return
    await expect(complete(fault(kind, always), { stream: true })).rejects.toMatchObject({ code })
  })

  test.each(['rate-limit', 'server-error', 'drop', 'cut', 'proxy-page', 'not-json'])(
    '%s once is got over',
    async (kind) => {
      expect(await complete(fault(kind))).toMatchObject({ kind: 'reply', reply: { attempts: 2, finish: 'stop' } })
    },
  )

  test('a conversation that is too long is a value, by order and by its length', async () => {
    const tooLong = { kind: 'context-exceeded', message: expect.stringMatching(/maximum context length/) }
    expect(await complete(fault('context-exceeded'))).toMatchObject(tooLong)
    expect(await complete({ context_tokens: 10 })).toMatchObject(tooLong)
    expect(await complete({ context_tokens: 10 }, { stream: true })).toMatchObject(tooLong)
  })

  test.each(['silence', 'endless'])('%s ends at the time for one request', async (kind) => {
    const failure = complete(fault(kind, always), { request_timeout_sec: 0.2, stream: true })
    await expect(failure).rejects.toMatchObject({ code: 'ApiTimeoutError', retryable: true })
  })

  test('bytes that are no UTF-8 become replacement characters', async () => {
    for (const stream of [false, true]) {
      const outcome = await complete(fault('bad-utf8', always), { stream })
      expect(outcome).toMatchObject({ kind: 'reply', reply: { text: expect.stringContaining('\ufffd') } })
    }
  })

  test.each([
    ['truncated', { finish: 'length', text: expect.stringMatching(/^\{[^}]*$/) }],
    ['refusal', { finish: 'content-filter' }],
    ['empty', { finish: 'stop', text: '' }],
    ['malformed', { finish: 'stop', text: expect.not.stringMatching(/\}$/) }],
    ['fenced', { text: expect.stringMatching(/^Here.*```json\n\{[\s\S]*\}\n```/s) }],
    ['missing-fields', { text: '{"analysis":""}' }],
    ['wrong-command', { text: expect.stringContaining('/no/such/file') }],
    ['early-completion', { text: expect.stringContaining('"task_complete": true') }],
    ['repeat', { text: expect.stringContaining('wc -l') }],
  ])('%s is a reply, and wrong', async (kind, reply) => {
    expect(await complete(fault(kind))).toMatchObject({ kind: 'reply', reply })
  })

  test('5 MB arrive whole', async () => {
    const outcome = await complete(fault('huge'), { request_timeout_sec: 60 })
    expect(outcome.kind === 'reply' && outcome.reply.text.length).toBeGreaterThan(5 * 1024 * 1024)
  })

  test('a limit of tokens and a word to stop at hold', async () => {
    const client = await clientFor({})
    expect(await client.complete({ ...request, maxOutputTokens: 3 })).toMatchObject({
      reply: { finish: 'length', usage: { outputTokens: 3 } },
    })
    expect(await client.complete({ ...request, stop: ['"plan"'] })).toMatchObject({
      reply: { finish: 'stop', text: expect.stringMatching(/analysis[^p]*$/) },
    })
  })

  test('token ids, log probabilities, reasoning and cached tokens are there when asked for', async () => {
    const client = await clientFor({ reasoning: true })
    const asked = { ...request, tokenDetails: true }
    const outcome = await client.complete(asked)
    if (outcome.kind !== 'reply') throw new Error(outcome.kind)
    const { tokens, usage, reasoning, text } = outcome.reply
    expect(reasoning).toBe('Next: count them')
    expect(tokens?.promptIds).toHaveLength(usage.inputTokens)
    expect(tokens?.completionIds).toHaveLength(usage.outputTokens)
    expect(tokens?.logprobs).toHaveLength(usage.outputTokens)
    expect(Math.max(...(tokens?.logprobs ?? [1]))).toBeLessThan(0)
    const messages: ChatMessage[] = [
      ...request.messages,
      { role: 'assistant', content: text },
      { role: 'user', content: 'and?' },
    ]
    const longer = await client.complete({ ...asked, messages })
    if (longer.kind !== 'reply') throw new Error(longer.kind)
    expect(longer.reply.usage.cacheTokens).toBe(usage.inputTokens)
    expect(longer.reply.tokens?.promptIds?.slice(0, usage.inputTokens)).toEqual(tokens?.promptIds)
  })

  test('a wrong model is not found', async () => {
    const client = await clientFor({ model: 'other' })
    await expect(client.complete(request)).rejects.toMatchObject({ code: 'ModelNotFoundError', retryable: false })
  })
})

describe('luck', () => {
  const outcomesOf = async (seed: number) => {
    const client = await ways['in one process']!(
      { seed, ...fault('server-error', { probability: 0.3 }) },
      { max_attempts: 1 },
    )
    const asked = Array.from({ length: 60 }, (_, i) => [{ role: 'user' as const, content: `${first} ${i}` }])
    return Promise.all(
      asked.map((messages) =>
        client.complete({ messages }).then(
          () => true,
          () => false,
        ),
      ),
    )
  }

  test('is the same for the same seed, other for another, and as frequent as asked', async () => {
    const [one, again, other] = [await outcomesOf(1), await outcomesOf(1), await outcomesOf(2)]
    expect(again).toEqual(one)
    expect(other).not.toEqual(one)
    const failures = one.filter((good) => !good).length
    expect(failures).toBeGreaterThan(6)
    expect(failures).toBeLessThan(36)
  })

  test('every n-th request is every n-th request', async () => {
    const client = await ways['in one process']!(fault('server-error', { every: 3 }), { max_attempts: 1 })
    const good: boolean[] = []
    for (let i = 0; i < 6; i++)
      good.push(
        await client.complete(request).then(
          () => true,
          () => false,
        ),
      )
    expect(good).toEqual([true, true, false, true, true, false])
  })

  test('only conversations and turns that are meant have it', async () => {
    const client = await ways['in one process']!({
      faults: [
        { kind: 'refusal', match: 'Count', turns: [2], times: 'always' },
        { kind: 'empty', match: 'elsewhere', times: 'always' },
      ],
    })
    const one = await client.complete(request)
    if (one.kind !== 'reply') throw new Error(one.kind)
    expect(one.reply.finish).toBe('stop')
    const messages: ChatMessage[] = [
      ...request.messages,
      { role: 'assistant', content: one.reply.text },
      { role: 'user', content: '3' },
    ]
    expect(await client.complete({ messages })).toMatchObject({ reply: { finish: 'content-filter' } })
  })
})

describe('a script in the order of requests', () => {
  test('plays a turn per request, faults included, then completes', async () => {
    const path = join(tmpdir(), 'ordered.json')
    const turns = ['one', { fault: { kind: 'context-exceeded' } }, 'two', { fault: 'server-error' }, 'three']
    await writeFile(path, JSON.stringify({ order: 'requests', turns }))
    const client = await ways['over HTTP']!({ script: path })
    const said: string[] = []
    for (let i = 0; i < 5; i++) {
      const outcome = await client.complete({ messages: [{ role: 'user', content: 'hello' }] })
      said.push(outcome.kind === 'reply' ? outcome.reply.text : outcome.kind)
    }
    expect(said.slice(0, 4)).toEqual(['one', 'context-exceeded', 'two', 'three'])
    expect(said[4]).toMatch(/^All steps are done/)
  })
})

test('a chance per conversation strikes all of its turns or none', () => {
  const [drawn] = scripted.options.parse({
    faults: [{ kind: 'repeat', probability: 0.5, per: 'conversation', times: 2 }],
  }).faults
  const struck = (opening: string, strikes: number) =>
    faultAt(
      [drawn!],
      { requests: 1, digest: `${opening}${strikes}`, opening, messages: [], turn: 2, strikes },
      (name) => (name === '0 unlucky' ? 0.1 : 0.9),
    ) !== null
  expect([0, 1, 2].map((strikes) => struck('unlucky', strikes))).toEqual([true, true, false])
  expect([0, 1, 2].map((strikes) => struck('lucky', strikes))).toEqual([false, false, false])
})
