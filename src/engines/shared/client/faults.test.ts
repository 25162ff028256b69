import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  after,
  bytes,
  chunksOf,
  cutsAfter,
  events,
  fails,
  hangsUp,
  json,
  type ModelServer,
  neverEnds,
  says,
  silent,
  startModelServer,
} from '../../../../test/fakes/model-server.ts'
import { holdLongTimers, longSec } from '../../../../test/hold-long-timers.ts'
import type { ModelClient, ModelReply } from '../../../core/model.ts'
import compatible from '../../openai-compatible.ts'

let server: ModelServer

beforeEach(async () => {
  server = await startModelServer()
})
afterEach(() => server.close())

const secret = 'sk-very-secret-0123456789'
const context = { env: { THE_KEY: secret }, stateDir: '/nonexistent' }
const hello = { messages: [{ role: 'user', content: 'hello' }] as const }

function client(options: Record<string, unknown> = {}): ModelClient {
  const all = {
    api_base: `${server.origin}/v1`,
    api_key_env: 'THE_KEY',
    min_wait_sec: 0.001,
    max_attempts: 3,
    ...options,
  }
  return compatible.make(compatible.options.parse(all), context).client('m')
}

async function replyOf(asked: ModelClient, onText?: (text: string) => void): Promise<ModelReply> {
  const outcome = await asked.complete(hello, onText && { onText })
  if (outcome.kind !== 'reply') throw new Error(`expected a reply, got ${JSON.stringify(outcome)}`)
  return outcome.reply
}

describe('a server that fails', () => {
  test.each([
    ['401', fails(401, `Incorrect API key provided: ${secret}`), 'AuthenticationError', false, 1],
    ['403', fails(403, 'not for you'), 'PermissionDeniedError', false, 1],
    ['404', fails(404, 'The model `m` does not exist'), 'ModelNotFoundError', false, 1],
    ['400', fails(400, 'messages.0.role: must be user'), 'BadRequestError', false, 1],
    ['429', fails(429, 'slow down'), 'RateLimitError', true, 3],
    [
      '429 without money',
      fails(429, 'You exceeded your current quota', { code: 'insufficient_quota' }),
      'RateLimitError',
      false,
      1,
    ],
    [
      '413 that means tokens per minute',
      fails(413, 'Request too large on tokens per minute (TPM)'),
      'RateLimitError',
      true,
      3,
    ],
    ['408', fails(408, 'too slow'), 'ApiTimeoutError', true, 3],
    ['409', fails(409, 'busy'), 'InternalServerError', true, 3],
    ['500', fails(500, 'oops'), 'InternalServerError', true, 3],
    ['501', fails(501, 'no such thing'), 'InternalServerError', false, 1],
    [
      '529',
      json({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, 529),
      'InternalServerError',
      true,
      3,
    ],
    ['an HTML page', bytes('<html><title>502 Bad Gateway</title></html>', 502), 'InternalServerError', true, 3],
    [
      'an error in a reply that claims success',
      json({ error: { message: 'upstream', code: 503 } }),
      'InternalServerError',
      true,
      3,
    ],
    ['malformed JSON for ever', bytes('{"choices": [{"mess'), 'MalformedReplyError', true, 3],
    ['JSON of another kind', json({ hello: 'world' }), 'MalformedReplyError', true, 3],
    ['no choices', json({ choices: [] }), 'MalformedReplyError', true, 3],
    ['a connection that is dropped', hangsUp, 'ApiConnectionError', true, 3],
  ])('%s ends in its own error, tried as often as it may help', async (_, behaviour, code, retryable, requests) => {
    server.plan(behaviour)
    const failure = await client()
      .complete(hello)
      .catch((error: unknown) => error)
    expect(failure).toMatchObject({ name: 'BoundaryError', boundary: 'model', code, retryable })
    expect(server.requests).toHaveLength(requests)
    expect(String(failure)).not.toContain(secret)
    expect(String(failure).length).toBeLessThan(500)
  })

  test('a server that is down is found out by its check, with its address', async () => {
    const asked = client({ healthcheck_max_attempts: 2, healthcheck_retry_delay: 0.001 })
    await server.close()
    await expect(asked.complete(hello)).rejects.toMatchObject({
      code: 'ApiConnectionError',
      retryable: true,
      message: expect.stringMatching(/no model server answers at http:\/\/127.*asked 2 times/),
    })
  })

  test('a server that goes down between the check and the call is a connection error', async () => {
    const asked = client()
    await replyOf(asked)
    await server.close()
    await expect(asked.complete(hello)).rejects.toMatchObject({ code: 'ApiConnectionError', retryable: true })
  })

  test('a storm of 429s and 500s passes', async () => {
    server.plan(fails(429, 'slow', {}, { 'retry-after': '0.05' }), fails(500, 'oops'), says('at last'))
    expect(await replyOf(client())).toMatchObject({ text: 'at last', attempts: 3 })
  })

  test('a wait that would outlast the deadline is not begun: the server’s own error is told at once', async () => {
    server.plan(fails(429, 'slow', {}, { 'retry-after': '200' }))
    await expect(client().complete(hello, { timeoutSec: 100 })).rejects.toMatchObject({ code: 'RateLimitError' })
    expect(server.requests).toHaveLength(1)
    server.plan(fails(429, 'slow', {}, { 'retry-after': '200' }))
    const deadline = new Date(Date.now() + 100_000)
    await expect(client().complete(hello, { deadline })).rejects.toMatchObject({ code: 'RateLimitError' })
    expect(server.requests).toHaveLength(2)
  })
})

describe('an unusual reply', () => {
  test('5 MB of text are a reply', async () => {
    const text = 'x'.repeat(5 * 1024 * 1024)
    server.plan(says(text))
    expect((await replyOf(client())).text).toBe(text)
    expect((await replyOf(client({ stream: true }))).text).toHaveLength(text.length)
  })

  test('bytes that are no UTF-8 become replacement characters, streamed or not', async () => {
    const choice = { message: { content: 'a?b' }, delta: { content: 'a?b' }, finish_reason: 'stop' }
    const broken = Buffer.from(JSON.stringify({ choices: [choice] })).map((byte) => (byte === 0x3f ? 0xff : byte))
    server.plan(bytes(broken))
    expect((await replyOf(client())).text).toBe('a\ufffdb')
    server.plan(bytes(Buffer.concat([Buffer.from('data: '), broken, Buffer.from('\n\ndata: [DONE]\n\n')])))
    expect((await replyOf(client({ stream: true }))).text).toBe('a\ufffdb')
  })

  test('more than the cap of bytes ends the call, once', async () => {
    server.plan(neverEnds('x'.repeat(100_000)))
    const failure = client({ stream: true }).complete(hello)
    await expect(failure).rejects.toMatchObject({
      code: 'MalformedReplyError',
      message: expect.stringContaining('longer than'),
    })
    expect(server.requests).toHaveLength(1)
  })

  test('an event without an end ends the call', async () => {
    server.plan((response) => {
      response.writeHead(200)
      response.end(`data: ${'x'.repeat(9 * 1024 * 1024)}`)
    })
    await expect(client({ stream: true }).complete(hello)).rejects.toMatchObject({ code: 'MalformedReplyError' })
  })

  test('output that was cut off at its limit says so', async () => {
    server.plan(says('half', {}, { finish_reason: 'length' }))
    expect(await replyOf(client())).toMatchObject({ text: 'half', finish: 'length' })
  })

  test('a content filter says so', async () => {
    server.plan(says('', {}, { finish_reason: 'content_filter' }))
    expect(await replyOf(client())).toMatchObject({ finish: 'content-filter' })
  })

  test('a server that counts nothing is guessed for, and the reply says so', async () => {
    server.plan(says('some words', {}, {}, { usage: undefined }))
    const { usage } = await replyOf(client())
    expect(usage).toMatchObject({ estimated: true })
    expect(usage.inputTokens).toBeGreaterThan(0)
    expect(usage.outputTokens).toBeGreaterThan(0)
  })
})

describe('a stream', () => {
  test('arrives piece by piece and whole', async () => {
    const pieces: string[] = []
    server.plan(says('hello there'))
    const reply = await replyOf(client(), (text) => pieces.push(text))
    expect(pieces).toEqual(['hel', 'lo ', 'the', 're'])
    expect(reply).toMatchObject({
      text: 'hello there',
      finish: 'stop',
      usage: { inputTokens: 11, cacheTokens: 4, outputTokens: 3 },
    })
    expect(server.requests[0]?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } })
  })

  test.each([
    ['breaks', cutsAfter(...chunksOf('hello').slice(0, 1))],
    ['ends too early', events(...chunksOf('hello').slice(0, 1))],
    ['tells of an error', events(...chunksOf('hello').slice(0, 1), { error: { message: 'engine died', code: 500 } })],
  ])('that %s is asked for again while nobody has heard a word of it', async (_, behaviour) => {
    server.plan(behaviour, says('hello'))
    expect(await replyOf(client({ stream: true }))).toMatchObject({ text: 'hello', attempts: 2 })
  })

  test('that breaks after words were handed on is not asked for again', async () => {
    server.plan(cutsAfter(...chunksOf('hello').slice(0, 1)), says('hello'))
    const heard: string[] = []
    const failure = client().complete(hello, { onText: (text) => heard.push(text) })
    await expect(failure).rejects.toMatchObject({ code: 'ApiConnectionError', retryable: true })
    expect(heard).toEqual(['hel'])
    expect(server.requests).toHaveLength(1)
  })

  test('is over when the server says so, though the connection stays open', async () => {
    server.plan((response) => {
      response.writeHead(200)
      for (const chunk of chunksOf('done')) response.write(`data: ${JSON.stringify(chunk)}\n\n`)
      response.write('data: [DONE]\n\n')
    })
    expect((await replyOf(client({ stream: true }))).text).toBe('done')
  })

  test('with a listener that throws ends the call with what it threw', async () => {
    server.plan(says('hello'))
    const oops = new Error('oops')
    const failure = client().complete(hello, {
      onText: () => {
        throw oops
      },
    })
    await expect(failure).rejects.toBe(oops)
  })
})

describe('time', () => {
  test('a model that never ends is stopped by the time of a request', async () => {
    const timeIsUp = holdLongTimers()
    let chunks = 0
    server.plan((response) => {
      response.writeHead(200)
      const timer = setInterval(() => {
        response.write(`data: ${JSON.stringify(chunksOf('x')[0])}\n\n`)
        if (++chunks === 5) timeIsUp()
      }, 5)
      response.on('close', () => clearInterval(timer))
    })
    const failure = client({ stream: true, request_timeout_sec: longSec }).complete(hello)
    await expect(failure).rejects.toMatchObject({ code: 'ApiTimeoutError', retryable: true })
    expect(server.requests).toHaveLength(1)
  })

  test('a request that was never answered is sent again when its time is up', async () => {
    const timeIsUp = holdLongTimers()
    server.plan(() => timeIsUp(), says('late'))
    const outcome = await client({ request_timeout_sec: longSec }).complete(hello)
    expect(outcome).toMatchObject({ kind: 'reply', reply: { text: 'late', attempts: 2 } })
  })

  test('a deadline ends the whole call, retries included', async () => {
    server.plan(fails(500, 'oops'), silent)
    const failure = client().complete(hello, { timeoutSec: 0.2 })
    await expect(failure).rejects.toMatchObject({ code: 'ApiTimeoutError', message: expect.stringContaining('0.2 s') })
  })

  test.each([
    ['a slow reply within its deadline is a reply', { timeoutSec: 30 }],
    ['a caller’s own deadline cuts no reply off: the caller does that', { deadline: new Date(0) }],
  ])('%s', async (_, options) => {
    server.plan(after(50, says('slow')))
    expect(await client().complete(hello, options)).toMatchObject({ kind: 'reply', reply: { text: 'slow' } })
  })

  test('an abort rejects with its own reason, while waiting for an answer and between attempts', async () => {
    for (const [behaviour, options] of [
      [silent, {}],
      [fails(500, 'oops'), { min_wait_sec: 1000, max_wait_sec: 1000 }],
    ] as const) {
      server.plan(behaviour)
      const seen = server.requests.length
      const controller = new AbortController()
      const calling = client(options).complete(hello, { signal: controller.signal })
      while (server.requests.length === seen) await new Promise((resolve) => setTimeout(resolve, 5))
      controller.abort()
      await expect(calling).rejects.toMatchObject({ name: 'AbortError' })
    }
  })
})

describe('a context that is too long', () => {
  test.each([
    [
      'OpenAI',
      400,
      { error: { message: "This model's maximum context length is 8192 tokens.", code: 'context_length_exceeded' } },
    ],
    ['OpenAI, by code alone', 400, { error: { message: 'Too long.', code: 'context_length_exceeded' } }],
    [
      'vLLM',
      400,
      {
        object: 'error',
        message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        code: 400,
      },
    ],
    [
      'vLLM, newer',
      400,
      {
        error: {
          message:
            "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 4096 tokens and your request has 20 input tokens",
          code: 400,
        },
      },
    ],
    [
      'vLLM, its input processor',
      400,
      { error: { message: 'The decoder prompt (length 5951) is longer than the maximum model length of 4096.' } },
    ],
    ['vLLM, nothing left', 400, { error: { message: 'max_tokens must be at least 1, got -1212.' } }],
    [
      'SGLang',
      400,
      {
        object: 'error',
        message: "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        code: 400,
      },
    ],
    [
      'SGLang, in total',
      400,
      {
        object: 'error',
        message: "Requested token count exceeds the model's maximum context length of 4096 tokens.",
        code: 400,
      },
    ],
    [
      'llama.cpp',
      400,
      {
        error: {
          code: 400,
          message: 'the request exceeds the available context size, try increasing it',
          type: 'exceed_context_size_error',
        },
      },
    ],
    [
      'TGI',
      422,
      {
        error: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000',
        error_type: 'validation',
      },
    ],
    [
      'Anthropic',
      400,
      {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' },
      },
    ],
    [
      'Anthropic, with output',
      400,
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000',
        },
      },
    ],
    [
      'Anthropic, by size',
      413,
      { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds the maximum size' } },
    ],
    [
      'Gemini',
      400,
      {
        error: {
          code: 400,
          message: 'The input token count (1300000) exceeds the maximum number of tokens allowed (1048575).',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    [
      'Gemini, in a list',
      400,
      [
        {
          error: {
            code: 400,
            message: 'The input token count exceeds the maximum number of tokens allowed 1048576.',
            status: 'INVALID_ARGUMENT',
          },
        },
      ],
    ],
    ['xAI', 400, { error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens." }],
    ['Groq', 400, { error: { message: 'Please reduce the length of the messages or completion.' } }],
    ['Ollama', 400, { error: { message: 'the input length exceeds the context length' } }],
  ])('%s: is a value and is not asked for again', async (_, status, document) => {
    server.plan(json(document, status))
    expect(await client().complete(hello)).toMatchObject({
      kind: 'context-exceeded',
      message: expect.stringMatching(/./),
    })
    expect(server.requests).toHaveLength(1)
  })

  test('is found in a stream too', async () => {
    server.plan(events({ error: { message: 'the request exceeds the available context size', code: 400 } }))
    expect(await client({ stream: true }).complete(hello)).toMatchObject({ kind: 'context-exceeded' })
  })

  test('is not seen in other refusals', async () => {
    server.plan(fails(400, 'max_tokens is too large: 100000. This model supports at most 16384 completion tokens.'))
    await expect(client().complete(hello)).rejects.toMatchObject({ code: 'BadRequestError' })
  })
})
