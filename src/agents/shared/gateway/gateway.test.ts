import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Answer, clientThat, replies } from '../../../../test/fakes/told-client.ts'
import { makeTempDir } from '../../../../test/make-task.ts'
import { parseTrajectory } from '../../../../test/parse-trajectory.ts'
import { BoundaryError } from '../../../core/errors.ts'
import { openCallRecorder } from '../../../formats/atif/recorder/call-recorder.ts'
import { openExchangeFiles } from '../../../store/exchange-files.ts'
import type { GatewayOptions } from './gateway-options.ts'
import { openGateway } from './open-gateway.ts'

const agent = { name: 'tester', version: '1', model: 'fake/model', sessionId: 's1' }
const tool = { id: 'call_1', name: 'bash', arguments: '{"command":"ls"}' }
const callsTool = replies('looking', { toolCalls: [tool], finish: 'tool-calls' })

/** The same question in each of the four APIs: `path`, `body`, where the key goes, and where the reply's text is. */
const dialects = [
  {
    name: 'openai-chat',
    path: '/v1/chat/completions',
    body: { model: 'm', messages: [{ role: 'user', content: 'hello' }] },
    header: (key: string) => ({ authorization: `Bearer ${key}` }),
    text: ['choices', 0, 'message', 'content'],
  },
  {
    name: 'openai-responses',
    path: '/v1/responses',
    body: { model: 'm', input: 'hello' },
    header: (key: string) => ({ authorization: `Bearer ${key}` }),
    text: ['output', 0, 'content', 0, 'text'],
  },
  {
    name: 'anthropic-messages',
    path: '/v1/messages?beta=true',
    body: { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] },
    header: (key: string) => ({ 'x-api-key': key }),
    text: ['content', 0, 'text'],
  },
  {
    name: 'gemini-generate',
    path: '/v1beta/models/m:generateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
    header: (key: string) => ({ 'x-goog-api-key': key }),
    text: ['candidates', 0, 'content', 'parts', 0, 'text'],
  },
] as const

describe.each(dialects)('over $name', ({ name, path, body, header, text }) => {
  test('a call is answered, and recorded with its tokens and price', async () => {
    const { post, key, finish } = await start(replies('hi there'))
    const answer = await post(path, body, header(key))
    expect(answer.status).toBe(200)
    expect(text.reduce((at, name) => at[name], JSON.parse(answer.text))).toBe('hi there')
    const { trajectory, calls } = await finish()
    expect(trajectory.steps).toMatchObject([
      { source: 'user', message: 'hello' },
      {
        source: 'agent',
        message: 'hi there',
        model_name: 'fake/model',
        metrics: { prompt_tokens: 10, cost_usd: 0.25, completion_token_ids: [3], logprobs: [-0.5] },
      },
    ])
    expect(calls).toMatchObject([{ call: 1, dialect: name, reply: { finish: 'stop' } }])
  })

  test('a connection is kept for as long as its agent likes', async () => {
    const { post, key, finish } = await start(replies('hi there'))
    const { headers } = await post(path, body, { ...header(key), connection: 'keep-alive' })
    expect(headers).toMatchObject({ connection: 'keep-alive' })
    expect(headers).not.toHaveProperty('keep-alive')
    await finish()
  })

  test('a stream is answered with a stream that has the whole text', async () => {
    const { post, key, finish } = await start(replies('hi there'))
    const streaming = path.replace(':generateContent', ':streamGenerateContent?alt=sse')
    const answer = await post(streaming, { ...body, ...(!path.includes('beta/') && { stream: true }) }, header(key))
    expect(answer.headers['content-type']).toContain('text/event-stream')
    expect(answer.text).toContain('hi there')
    expect((await finish()).trajectory.steps).toHaveLength(2)
  })

  test('a stream is told while the model still speaks, and recorded whole', async () => {
    let goOn = () => {}
    const heard = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const { post, key, finish } = await start(async (request, options) => {
      options.onText?.('early ')
      // The second words come only after the first have arrived.
      await heard
      options.onText?.('late')
      return replies('early late', { toolCalls: [tool], finish: 'tool-calls' })(request, options)
    })
    const streaming = path.replace(':generateContent', ':streamGenerateContent?alt=sse')
    const whole = { ...body, ...(!path.includes('beta/') && { stream: true }) }
    const answer = await post(streaming, whole, header(key), (text) => text.includes('early') && goOn())
    expect(answer.text.indexOf('early')).toBeLessThan(answer.text.indexOf('"late"'))
    expect(answer.text).toContain('call_1')
    expect((await finish()).trajectory.steps[1]).toMatchObject({
      message: 'early late',
      tool_calls: [{ tool_call_id: 'call_1' }],
      metrics: { completion_token_ids: [3] },
    })
  })

  test('thoughts come before words, and a failure after them is told in the stream', async () => {
    const { post, key, finish } = await start(
      async (request, options) => {
        options.onReasoning?.('hm')
        options.onText?.('so')
        return replies('so', { reasoning: 'hm' })(request, options)
      },
      async (_, options) => {
        options.onText?.('then')
        throw new BoundaryError('model', 'the line broke', { code: 'InternalServerError' })
      },
    )
    const streaming = path.replace(':generateContent', ':streamGenerateContent?alt=sse')
    const whole = { ...body, ...(!path.includes('beta/') && { stream: true }) }
    const { text } = await post(streaming, whole, header(key))
    expect(text.indexOf('"hm"')).toBeGreaterThan(0)
    expect(text.indexOf('"hm"')).toBeLessThan(text.indexOf('"so"'))
    const broken = await post(streaming, whole, header(key))
    expect(broken.status).toBe(200)
    expect(broken.text).toMatch(/"then"[\s\S]*the line broke/)
    expect((await finish()).calls).toMatchObject([
      { call: 1, reply: { finish: 'stop' } },
      { error: { code: 'InternalServerError' } },
    ])
  })

  test('a wrong key, or none, is refused and the model is not asked', async () => {
    const { post, client, gateway } = await start(replies('hi'))
    expect((await post(path, body, header('sk-trial-other'))).status).toBe(401)
    expect((await post(path, body, {})).status).toBe(401)
    expect(client.asked).toEqual([])
    expect(gateway.counts().calls).toBe(0)
  })

  test.each<[string, number]>([
    ['RateLimitError', 429],
    ['AuthenticationError', 502],
    ['PermissionDeniedError', 502],
    ['InternalServerError', 500],
    ['ApiConnectionError', 503],
    ['ApiTimeoutError', 504],
    ['BadRequestError', 400],
    ['ModelNotFoundError', 404],
  ])('%s of the server becomes %i, recorded, and no key is quoted', async (code, status) => {
    const says = code === 'AuthenticationError' ? 'Incorrect API key: sk-provider-secret' : 'the server said no'
    const { post, key, finish, gateway } = await start(() => {
      throw new BoundaryError('model', says, { code })
    }, replies('at last'))
    const answer = await post(path, body, header(key))
    expect(answer.status).toBe(status)
    expect(answer.text).not.toContain('sk-provider-secret')
    expect(gateway.counts()).toMatchObject({ calls: 1, succeeded: 0, lastFailure: { code } })
    expect((await post(path, body, header(key))).status).toBe(200)
    const { trajectory, calls, raw } = await finish()
    expect(trajectory.steps[1]?.extra).toMatchObject({ failed_calls_before: [{ code }] })
    expect(calls).toMatchObject([
      { call: 1, error: { code } },
      { call: 2, reply: { finish: 'stop' } },
    ])
    expect(raw).not.toContain('sk-provider-secret')
  })

  test('a conversation that is too long is told in the words of the API', async () => {
    const { post, key } = await start(() => ({ kind: 'context-exceeded', message: 'maximum context length is 9' }))
    const answer = await post(path, body, header(key))
    expect(answer.status).toBe(400)
    expect(answer.text).toContain('maximum context length is 9')
  })
})

test('a conversation over several calls becomes one trajectory: only what is new is added', async () => {
  const { chat, finish, client } = await start(callsTool, replies('done', { finish: 'length' }))
  const opening = [
    { role: 'system', content: 'rules' },
    { role: 'user', content: 'work' },
  ]
  await chat(opening, { tools, max_tokens: 9999 })
  await chat([...opening, called, { role: 'tool', tool_call_id: 'call_1', content: 'a b' }], { tools })
  expect(client.asked[0]?.maxOutputTokens).toBe(500)
  const { trajectory, files } = await finish()
  expect(files).toEqual(['trajectory.json'])
  expect(trajectory.steps).toMatchObject([
    { source: 'system', message: 'rules' },
    { source: 'user', message: 'work' },
    {
      source: 'agent',
      tool_calls: [{ tool_call_id: 'call_1', function_name: 'bash', arguments: { command: 'ls' } }],
      observation: { results: [{ source_call_id: 'call_1', content: 'a b' }] },
    },
    { source: 'agent', message: 'done', extra: { finish: 'length' } },
  ])
  expect(trajectory.agent.tool_definitions).toHaveLength(1)
  expect(trajectory.final_metrics).toMatchObject({ total_prompt_tokens: 20, total_cost_usd: 0.5, total_steps: 4 })
})

test('a secret of the trial is in no trajectory, not even as the name of an argument', async () => {
  const tells = { ...tool, arguments: '{"hunter22":{"echo":"is hunter22"}}' }
  const { chat, finish } = await start(replies('saw hunter22', { toolCalls: [tells], finish: 'tool-calls' }))
  const { text } = await chat([{ role: 'user', content: 'env says hunter22' }], { tools })
  expect(text).toContain('saw hunter22')
  const { trajectory } = await finish()
  expect(JSON.stringify(trajectory)).not.toContain('hunter22')
  expect(trajectory.steps[1]?.tool_calls).toMatchObject([{ arguments: { '****': { echo: 'is ****' } } }])
})

test('a call beside the conversation, such as for a title, has a trajectory of its own', async () => {
  const { chat, finish } = await start(replies('a title'), replies('worked'))
  await chat([{ role: 'user', content: 'name this' }])
  await chat([{ role: 'user', content: 'work' }], { tools })
  const { trajectory, files } = await finish()
  expect([...files].sort()).toEqual(['trajectory.json', 'trajectory.side-1.json'])
  expect(trajectory.steps.map(({ message }) => message)).toEqual(['work', 'worked'])
})

test('a history that the agent rewrote goes on in the next file', async () => {
  const { chat, finish } = await start(replies('one'), replies('two'))
  const work = { role: 'user', content: 'work' }
  await chat([work], { tools })
  await chat([work, { role: 'user', content: 'summary: one was said' }], { tools })
  const { trajectory, files, dir } = await finish()
  expect(files).toContain('trajectory.cont-1.json')
  expect(trajectory.continued_trajectory_ref).toBe('trajectory.cont-1.json')
  const next = parseTrajectory(readFileSync(join(dir, 'trajectory.cont-1.json'), 'utf8'))
  expect(next.steps).toMatchObject([
    { message: 'work', is_copied_context: true },
    { message: 'summary: one was said' },
    { message: 'two' },
  ])
})

test('the same question again, its reply lost on the way, is one more step that says so', async () => {
  const { chat, finish } = await start(replies('lost'), replies('heard'))
  await chat([{ role: 'user', content: 'work' }], { tools })
  await chat([{ role: 'user', content: 'work' }], { tools })
  const { trajectory } = await finish()
  expect(trajectory.steps).toMatchObject([
    { message: 'work' },
    { message: 'lost' },
    { message: 'heard', extra: { asked_again: true } },
  ])
})

test('an agent that hangs up stops its call, and so does closing', async () => {
  let stopped = 0
  const forever: Answer = (_, { signal }) =>
    new Promise((_resolve, reject) => {
      const stop = () => {
        stopped++
        reject(new DOMException('stopped', 'AbortError'))
      }
      signal?.addEventListener('abort', stop, { once: true })
      begun()
    })
  let begun = () => {}
  const { chat, finish, gateway } = await start(forever)
  const begins = () => new Promise<void>((resolve) => (begun = resolve))
  const beginning = begins()
  const hanging = chat([{ role: 'user', content: 'work' }]).catch(() => 'hung up')
  await beginning
  await gateway.close()
  expect(await hanging).toBe('hung up')
  expect(stopped).toBe(1)
  expect((await finish()).calls).toMatchObject([{ error: { code: 'Aborted' } }])
})

test('a slow model keeps its caller with signs of life, and its failure is told in the stream', async () => {
  const { chat } = await start({ silenceMs: 5 }, async () => {
    await new Promise((resolve) => setTimeout(resolve, 100))
    throw new BoundaryError('model', 'slow down', { code: 'RateLimitError' })
  })
  const answer = await chat([{ role: 'user', content: 'work' }], { stream: true })
  expect(answer.status).toBe(200)
  expect(answer.text).toMatch(/^:.*\n\n[\s\S]*event: error\ndata: .*slow down/)
})

test('a spent budget is told, counted, and no reason to try again', async () => {
  const { chat, gateway } = await start(() => ({ kind: 'budget-exceeded', budget: 'costUsd' }))
  expect((await chat([{ role: 'user', content: 'work' }])).status).toBe(403)
  expect(gateway.counts().spentBudget).toBe('costUsd')
})

test.each([
  ['no JSON', '/v1/messages', '{"model":', 400],
  ['another address', '/v1/embeddings', '{}', 404],
])('%s is refused, and written down', async (_, path, body, status) => {
  const { post, key, finish } = await start(replies('hi'))
  expect((await post(path, body, { 'x-api-key': key })).status).toBe(status)
  expect((await finish()).calls).toMatchObject([{ error: { code: expect.any(String) } }])
})

test('the list of models has the trial’s model', async () => {
  const { get, key } = await start(replies('hi'))
  expect(JSON.parse((await get(`/v1/models?key=${key}`)).text)).toMatchObject({ data: [{ id: 'fake/model' }] })
  expect(JSON.parse((await get(`/v1beta/models?key=${key}`)).text)).toMatchObject({
    models: [{ name: 'models/fake/model' }],
  })
})

const tools = [{ type: 'function', function: { name: 'bash', description: 'runs', parameters: { type: 'object' } } }]
const called = {
  role: 'assistant',
  content: 'looking',
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } }],
}

async function start(first: Answer | Pick<GatewayOptions, 'silenceMs' | 'limits'>, ...more: Answer[]) {
  const answers = typeof first === 'function' ? [first, ...more] : more
  const dir = await makeTempDir()
  const client = clientThat(...answers)
  let finished = false
  const told = openExchangeFiles(
    (text) => text,
    () => {},
  )
  const recorder = await openCallRecorder(dir, agent, (text) => text.replaceAll('hunter22', '****'))
  const gateway = openGateway({
    client: told.recorded(client, dir),
    recorder,
    refused: (call) => told.refused(dir, call),
    ...(typeof first !== 'function' && first),
  })
  // Connections arrive from outside, as they do through a sandbox's door.
  const door = createServer((socket) => gateway.accept(socket)).listen(0, '127.0.0.1')
  await new Promise((resolve) => door.once('listening', resolve))
  onTestFinished(async () => {
    await gateway.close()
    if (!finished) await recorder.finish()
    if (!finished) await told.close()
    door.close()
  })
  const origin = `http://127.0.0.1:${(door.address() as AddressInfo).port}`
  const post = (path: string, body: unknown, headers: Record<string, string>, onText?: (text: string) => void) =>
    send('POST', origin + path, { headers, body: typeof body === 'string' ? body : JSON.stringify(body), onText })
  return {
    client,
    gateway,
    key: gateway.key,
    post,
    get: (path: string) => send('GET', origin + path, { headers: {}, body: '' }),
    chat: (messages: unknown[], rest: object = {}) =>
      post('/v1/chat/completions', { model: 'm', messages, ...rest }, { authorization: `Bearer ${gateway.key}` }),
    async finish() {
      finished = true
      await gateway.close()
      const files = await recorder.finish()
      await told.close()
      const [, ...lines] = readFileSync(join(dir, 'exchanges.jsonl'), 'utf8').split('\n')
      const raw = files.map((file) => readFileSync(join(dir, file), 'utf8'))
      const main = raw[files.indexOf('trajectory.json')]
      return {
        dir,
        files,
        raw: raw.join('') + lines.join(''),
        calls: lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line)])),
        trajectory: main === undefined ? null! : parseTrajectory(main),
      }
    },
  }
}

interface Heard {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
}

interface Sent {
  readonly headers: Record<string, string>
  readonly body: string
  readonly onText?: ((text: string) => void) | undefined
}

function send(method: string, url: string, { headers, body, onText = () => {} }: Sent): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
        onText(text)
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}
