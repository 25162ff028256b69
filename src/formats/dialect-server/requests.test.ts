import { describe, expect, test } from 'vitest'
import { makeEventReader } from '../../lib/sse.ts'
import { findRoute } from './routes.ts'
import type { ServedCall, ServedReply } from './server-dialect.ts'
import { piecesOf, renderAnswer } from './wire-answer.ts'

const stamp = { id: 'abc', createdSec: 1_700_000_000, model: 'm' }

function parse(path: string, body: unknown) {
  const url = new URL(path, 'http://x')
  const route = findRoute(url.pathname, Object.fromEntries(url.searchParams))
  if (!route) throw new Error(`no route for ${path}`)
  return route.dialect.parse(body, route.address)
}

function callOf(path: string, body: unknown): ServedCall {
  const parsed = parse(path, body)
  if (parsed.kind === 'refused') throw new Error(parsed.fault.message)
  return parsed.call
}

const hello = [{ role: 'user', content: 'hello' }]

describe('an address', () => {
  test.each([
    ['/v1/chat/completions', 'openai-chat'],
    ['/chat/completions', 'openai-chat'],
    ['/v1/responses/', 'openai-responses'],
    ['/v1/messages?beta=true', 'anthropic-messages'],
    ['/v1beta/models/gemini-x:generateContent', 'gemini-generate'],
  ])('%s is %s', (path, name) => {
    expect(findRoute(new URL(path, 'http://x').pathname)?.dialect.name).toBe(name)
  })

  test.each(['/v1/completions', '/', '/v1/messages/count_tokens', '/v1/models'])('%s is none', (path) => {
    expect(findRoute(path)).toBeNull()
  })

  test('of a stream names its model, slashes and all', () => {
    const path = '/v1beta/models/org%2Fm:streamGenerateContent?alt=sse'
    expect(callOf(path, { contents: [{ parts: [{ text: 'x' }] }] })).toMatchObject({ model: 'org/m', stream: true })
  })
})

describe('what cannot be answered faithfully is refused', () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
  test.each([
    [
      '/v1/chat/completions',
      { model: 'm', messages: [{ role: 'user', content: [image] }] },
      /messages\.0\.content.*image_url/,
    ],
    ['/v1/chat/completions', { model: 'm', messages: hello, n: 2 }, /^n: expected 1, got 2/],
    ['/v1/chat/completions', { model: 'm' }, /^messages/],
    ['/v1/chat/completions', [], /the body/],
    ['/v1/chat/completions', { model: 'm', messages: hello, functions: [] }, /^functions/],
    ['/v1/responses', { model: 'm', input: 'x', previous_response_id: 'resp_1' }, /whole conversation/],
    ['/v1/responses', { model: 'm', input: [{ type: 'computer_call' }] }, /computer_call/],
    ['/v1/responses', { model: 'm', input: [{ role: 'user', content: [{ type: 'input_image' }] }] }, /input_image/],
    ['/v1/messages', { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: [picture] }] }, /type image/],
    ['/v1beta/models/m:generateContent', { contents: [{ parts: [{ inlineData: { data: 'AAAA' } }] }] }, /inlineData/],
    ['/v1beta/models/m:streamGenerateContent', { contents: [{ parts: [{ text: 'x' }] }] }, /alt: expected sse/],
  ])('%s', (path, body, message) => {
    expect(parse(path, body)).toMatchObject({
      kind: 'refused',
      fault: { kind: 'invalid-request', message: expect.stringMatching(message) },
    })
  })
})

describe('chat completions', () => {
  test('sampling settings nobody knows are passed on, the caller’s own affairs are not', () => {
    const { request, ignored } = callOf('/v1/chat/completions', {
      model: 'm',
      messages: [
        {
          role: 'developer',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
        ...hello,
      ],
      seed: 7,
      chat_template_kwargs: { enable_thinking: false },
      user: 'somebody',
      store: true,
      max_completion_tokens: 5,
      stop: 'END',
      logprobs: true,
    })
    expect(request).toEqual({
      messages: [{ role: 'system', content: 'a\nb' }, ...hello],
      maxOutputTokens: 5,
      stop: ['END'],
      tokenDetails: true,
      extraBody: { seed: 7, chat_template_kwargs: { enable_thinking: false } },
    })
    expect(ignored).toEqual(['user', 'store'])
  })

  test('token ids and log probabilities have vLLM’s names', () => {
    const call = callOf('/v1/chat/completions', { model: 'm', messages: hello, return_token_ids: true })
    const tokens = { promptIds: [1, 2], completionIds: [3], logprobs: [-0.5] }
    const document = documentOf('/v1/chat/completions', call, { ...plainReply, tokens })
    expect(document).toMatchObject({
      prompt_token_ids: [1, 2],
      choices: [{ token_ids: [3], logprobs: { content: [{ logprob: -0.5 }] } }],
    })
  })
})

describe('responses', () => {
  const items = [
    { role: 'developer', content: 'be brief' },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'do it' }] },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'xyz' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I will' }] },
    { type: 'function_call', call_id: 'c1', name: 'exec_command', arguments: '{"cmd":"ls"}' },
    { type: 'custom_tool_call', call_id: 'c2', name: 'apply_patch', input: '*** Begin' },
    { type: 'function_call_output', call_id: 'c1', output: 'a.txt' },
    { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'done' }] },
  ]
  const tools = [
    { type: 'function', name: 'exec_command', description: 'runs', parameters: { type: 'object' } },
    { type: 'custom', name: 'apply_patch', description: 'patches', format: { type: 'grammar' } },
    { type: 'web_search' },
  ]

  test('items become a conversation, what the model said in one go one message', () => {
    const call = callOf('/v1/responses', {
      model: 'm',
      instructions: 'you are',
      input: items,
      tools,
      store: false,
      stream: true,
    })
    expect(call.request.messages).toEqual([
      { role: 'system', content: 'you are' },
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'do it' },
      {
        role: 'assistant',
        content: 'I will',
        reasoning: 'hm',
        reasoningBlocks: [items[2]],
        toolCalls: [
          { id: 'c1', name: 'exec_command', arguments: '{"cmd":"ls"}' },
          { id: 'c2', name: 'apply_patch', arguments: '{"input":"*** Begin"}' },
        ],
      },
      { role: 'tool', content: 'a.txt', toolCallId: 'c1' },
      { role: 'tool', content: 'done', toolCallId: 'c2' },
    ])
    expect(call.request.tools?.map(({ name }) => name)).toEqual(['exec_command', 'apply_patch'])
    expect(call).toMatchObject({
      stream: true,
      ignored: ['store', 'tool web_search'],
      shape: { textTools: ['apply_patch'] },
    })
  })

  test('a tool in a namespace has one name for the model, and two in the reply', () => {
    const inner = { type: 'function', name: 'moon_phase', description: 'tells it', parameters: {} }
    const called = { type: 'function_call', call_id: 'c0', name: 'moon_phase', namespace: 'mcp__sky', arguments: '{}' }
    const spaced = [...tools, { type: 'namespace', name: 'mcp__sky', tools: [inner, { type: 'web_search' }] }]
    const call = callOf('/v1/responses', { model: 'm', input: [called], tools: spaced })
    expect(call.request.tools?.at(-1)).toMatchObject({ name: 'mcp__sky__moon_phase', description: 'tells it' })
    expect(call.request.messages[0]?.toolCalls?.[0]?.name).toBe('mcp__sky__moon_phase')
    expect(call.ignored).toEqual(['tool web_search', 'tool web_search'])
    const toolCalls = ['mcp__sky__moon_phase', 'exec_command'].map((name) => ({ id: name, name, arguments: '{}' }))
    const said = documentOf('/v1/responses', call, { ...reply, toolCalls }).output.slice(-2)
    expect(said[0]).toMatchObject({ type: 'function_call', namespace: 'mcp__sky', name: 'moon_phase', arguments: '{}' })
    expect(said[1]).toMatchObject({ type: 'function_call', name: 'exec_command' })
    expect(said[1]).not.toHaveProperty('namespace')
  })

  const reply: ServedReply = {
    text: 'here you are',
    reasoning: 'let me think',
    toolCalls: [
      { id: 'c1', name: 'exec_command', arguments: '{"cmd":"ls"}' },
      { id: 'c2', name: 'apply_patch', arguments: '{"input":"*** Begin"}' },
    ],
    finish: 'tool-calls',
    usage: { inputTokens: 9, cacheTokens: 4, outputTokens: 3 },
    tokens: null,
  }

  test.each([reply, { ...reply, toolCalls: [], reasoning: null, text: '', finish: 'stop' as const }])(
    'a stream announces, fills and closes every item, and ends with what one document would say',
    (given) => {
      const call = callOf('/v1/responses', { model: 'm', input: 'x', tools, stream: true })
      const events = eventsOf(call, given)
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, i) => i))
      const whole = documentOf('/v1/responses', { ...call, stream: false }, given)
      expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: whole })
      const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
      expect(done).toEqual(whole.output)
      expect(events.filter(({ type }) => type === 'response.output_item.added')).toHaveLength(done.length)
      const said = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta)
      expect(said.join('')).toBe(given.text)
      expect(events.find(({ type }) => type === 'response.output_text.done')?.text ?? given.text).toBe(given.text)
    },
  )

  test('a reply cut at its limit is incomplete', () => {
    const call = callOf('/v1/responses', { model: 'm', input: 'x', stream: true })
    const last = eventsOf(call, { ...plainReply, finish: 'length' }).at(-1)
    expect(last).toMatchObject({
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    })
  })
})

describe('messages', () => {
  test('results of tools come before the words beside them, thoughts are kept with their signature', () => {
    const { request, ignored } = callOf('/v1/messages', {
      model: 'm',
      max_tokens: 32000,
      metadata: { user_id: 'u' },
      thinking: { type: 'adaptive' },
      system: [
        { type: 'text', text: 'billing' },
        { type: 'text', text: 'be good', cache_control: { type: 'ephemeral' } },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'reminder' },
            { type: 'text', text: 'do it' },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'note' },
            { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'a.txt' }], is_error: false },
          ],
        },
      ],
      tools: [
        { name: 'Bash', description: 'runs', input_schema: { type: 'object' } },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
    })
    expect(request.messages).toEqual([
      { role: 'system', content: 'billing\nbe good' },
      { role: 'user', content: 'reminder\ndo it' },
      {
        role: 'assistant',
        content: '',
        reasoning: 'hm',
        reasoningBlocks: [{ type: 'thinking', thinking: 'hm', signature: 'sig' }],
        toolCalls: [{ id: 't1', name: 'Bash', arguments: '{"command":"ls"}' }],
      },
      { role: 'tool', content: 'a.txt', toolCallId: 't1' },
      { role: 'user', content: 'note' },
    ])
    expect(request.tools).toHaveLength(1)
    expect(ignored).toEqual(['metadata', 'tool web_search_20250305'])
  })

  test('a budget of thinking is an effort, and none is none', () => {
    const effort = (thinking: object) =>
      callOf('/v1/messages', { model: 'm', max_tokens: 9, messages: hello, thinking }).request.reasoningEffort
    expect(effort({ type: 'enabled', budget_tokens: 2048 })).toBe('2048')
    expect(effort({ type: 'disabled' })).toBe('none')
    expect(effort({ type: 'adaptive' })).toBeUndefined()
  })
})

describe('generateContent', () => {
  test('types in capitals become small, calls without ids find their results by name', () => {
    const { request } = callOf('/v1beta/models/m:generateContent', {
      systemInstruction: { parts: [{ text: 'be good' }] },
      contents: [
        { role: 'user', parts: [{ text: 'do it' }] },
        {
          role: 'model',
          parts: [
            { text: 'hm', thought: true },
            { functionCall: { name: 'sh', args: { a: 1 } }, thoughtSignature: 's' },
            { functionCall: { name: 'sh', args: { a: 2 } } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'sh', response: { output: 'one' } } },
            { functionResponse: { name: 'sh', response: { code: 2, output: 'two' } } },
          ],
        },
      ],
      tools: [
        {
          functionDeclarations: [
            { name: 'sh', parameters: { type: 'OBJECT', properties: { type: { type: 'STRING' } } } },
          ],
        },
        { googleSearch: {} },
      ],
      generationConfig: { thinkingConfig: { thinkingBudget: 0 }, topK: 40 },
    })
    expect(request).toEqual({
      messages: [
        { role: 'system', content: 'be good' },
        { role: 'user', content: 'do it' },
        {
          role: 'assistant',
          content: '',
          reasoning: 'hm',
          toolCalls: [
            { id: 'call_0', name: 'sh', arguments: '{"a":1}', signature: 's' },
            { id: 'call_1', name: 'sh', arguments: '{"a":2}' },
          ],
        },
        { role: 'tool', content: 'one', toolCallId: 'call_0' },
        { role: 'tool', content: '{"code":2,"output":"two"}', toolCallId: 'call_1' },
      ],
      reasoningEffort: 'none',
      tools: [
        { name: 'sh', description: '', parameters: { type: 'object', properties: { type: { type: 'string' } } } },
      ],
      extraBody: { top_k: 40 },
    })
  })
})

test('a text in pieces is the same text, no character torn apart', () => {
  const pieces = piecesOf('a😀b😀😀c', 2)
  expect(pieces.join('')).toBe('a😀b😀😀c')
  for (const piece of pieces) expect(Buffer.from(piece).toString()).toBe(piece)
})

const plainReply: ServedReply = {
  text: 'hi',
  reasoning: null,
  toolCalls: [],
  finish: 'stop',
  usage: { inputTokens: 1, cacheTokens: 0, outputTokens: 1 },
  tokens: null,
}

function documentOf(path: string, call: ServedCall, reply: ServedReply) {
  const dialect = findRoute(path)?.dialect
  if (!dialect) throw new Error(path)
  return JSON.parse(JSON.stringify(dialect.render(call, reply, stamp)))
}

interface Event {
  readonly type: string
  readonly sequence_number: number
  readonly item?: unknown
  readonly delta?: string
  readonly text?: string
}

function eventsOf(call: ServedCall, reply: ServedReply): Event[] {
  const dialect = findRoute('/v1/responses')!.dialect
  const wire = renderAnswer(dialect, call, { kind: 'reply', reply, pace: { pieceChars: 4, pieceMs: 0 } }, stamp)
  const events: Event[] = []
  const read = makeEventReader((data) => events.push(JSON.parse(data)))
  for (const { data } of typeof wire === 'string' ? [] : wire.pieces) read(Buffer.from(data))
  return events
}
