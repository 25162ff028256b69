import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ModelRequest } from '../core/model.ts'
import type { Parsed } from './model-dialect.ts'
import { openaiChat } from './openai-chat.ts'

const dialect = openaiChat({ reasoningField: 'reasoning_content' })
const how = { stream: false, quirks: { maxTokensField: 'max_tokens', dropped: [] }, defaultOutputTokens: 100 } as const
const user = { role: 'user', content: 'hi' } as const

function streamed(documents: readonly unknown[]): Parsed {
  const stream = dialect.makeStream({ messages: [] }, () => {})
  for (const document of documents) if (stream.push(JSON.stringify(document))) return stream.end()
  stream.push('[DONE]')
  return stream.end()
}

test('a bare request holds nothing that was not asked for', () => {
  expect(JSON.parse(JSON.stringify(dialect.render('m', { messages: [user] }, how)))).toEqual({
    model: 'm',
    messages: [user],
  })
})

test('everything that can be asked for has its place', () => {
  const request: ModelRequest = {
    messages: [
      { role: 'system', content: 'be good' },
      user,
      { role: 'assistant', content: '', reasoning: 'hm', toolCalls: [{ id: 'c1', name: 'run', arguments: '{"a":1}' }] },
      { role: 'tool', content: 'done', toolCallId: 'c1' },
    ],
    temperature: 0.5,
    topP: 0.9,
    maxOutputTokens: 7,
    stop: ['END'],
    reasoningEffort: 'high',
    tools: [{ name: 'run', description: 'runs', parameters: { type: 'object' } }],
    toolChoice: { name: 'run' },
    jsonSchema: { name: 'answer', schema: { type: 'object' } },
    tokenDetails: true,
    sessionId: 's',
    extraBody: { top_k: 4 },
  }
  expect(dialect.render('m', request, { ...how, stream: true })).toEqual({
    model: 'm',
    messages: [
      { role: 'system', content: 'be good' },
      user,
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'hm',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'run', arguments: '{"a":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'done' },
    ],
    temperature: 0.5,
    top_p: 0.9,
    max_tokens: 7,
    stop: ['END'],
    reasoning_effort: 'high',
    tools: [{ type: 'function', function: { name: 'run', description: 'runs', parameters: { type: 'object' } } }],
    tool_choice: { type: 'function', function: { name: 'run' } },
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' }, strict: true } },
    logprobs: true,
    return_token_ids: true,
    session_id: 's',
    top_k: 4,
    stream: true,
    stream_options: { include_usage: true },
  })
})

test('what a server refuses is left out or named otherwise', () => {
  const quirks = { maxTokensField: 'max_completion_tokens', dropped: ['temperature', 'session_id'] } as const
  const body = dialect.render(
    'm',
    { messages: [user], temperature: 1, sessionId: 's', maxOutputTokens: 5 },
    { ...how, quirks },
  )
  expect(JSON.parse(JSON.stringify(body))).toEqual({ model: 'm', messages: [user], max_completion_tokens: 5 })
})

test('a continued conversation starts with the same bytes', () => {
  const text = (messages: ModelRequest['messages']) =>
    JSON.stringify(dialect.render('m', { messages, temperature: 1 }, how).messages)
  const before = text([user])
  expect(text([user, { role: 'assistant', content: 'yes' }]).startsWith(before.slice(0, -1))).toBe(true)
})

test('vLLM’s ids and log probabilities are read where vLLM and where a proxy puts them', () => {
  const logprobs = {
    content: [
      { token: 'a', logprob: -0.5 },
      { token: 'b', logprob: -1 },
    ],
  }
  const expected = { promptIds: [1, 2], completionIds: [3, 4], logprobs: [-0.5, -1] }
  const choice = { message: { content: 'ab' }, finish_reason: 'stop', logprobs }
  const direct = dialect.parse(
    { choices: [{ ...choice, token_ids: [3, 4] }], prompt_token_ids: [1, 2] },
    { messages: [] },
  )
  const fields = { provider_specific_fields: { token_ids: [3, 4], prompt_token_ids: [1, 2] } }
  const proxied = dialect.parse({ choices: [{ ...choice, ...fields }] }, { messages: [] })
  for (const parsed of [direct, proxied]) expect(parsed).toMatchObject({ kind: 'reply', reply: { tokens: expected } })
  const stream = streamed([
    {
      choices: [{ delta: { content: 'a' }, token_ids: [3], logprobs: { content: [{ logprob: -0.5 }] } }],
      prompt_token_ids: [1, 2],
    },
    {
      choices: [
        { delta: { content: 'b' }, token_ids: [4], logprobs: { content: [{ logprob: -1 }] }, finish_reason: 'stop' },
      ],
    },
  ])
  expect(stream).toMatchObject({ kind: 'reply', reply: { text: 'ab', tokens: expected } })
})

test.each(['reasoning_content', 'reasoning'])('reasoning is read from %s', (field) => {
  const parsed = dialect.parse({ choices: [{ message: { content: 'x', [field]: 'because' } }] }, { messages: [] })
  expect(parsed).toMatchObject({ reply: { text: 'x', reasoning: 'because' } })
})

test('a refusal counts as filtered, and text in parts is put together', () => {
  const refusal = dialect.parse({ choices: [{ message: { content: null, refusal: 'no' } }] }, { messages: [] })
  expect(refusal).toMatchObject({ reply: { text: 'no', finish: 'content-filter' } })
  const parts = [{ type: 'text', text: 'a' }, { type: 'image' }, { type: 'text', text: 'b' }]
  expect(dialect.parse({ choices: [{ message: { content: parts } }] }, { messages: [] })).toMatchObject({
    reply: { text: 'ab' },
  })
})

test('tool calls come in pieces, by their index', () => {
  const piece = (index: number, call: object) => ({ choices: [{ delta: { tool_calls: [{ index, ...call }] } }] })
  const parsed = streamed([
    piece(0, { id: 'a', function: { name: 'run', arguments: '{"x"' } }),
    piece(1, { id: 'b', function: { name: 'stop', arguments: '' } }),
    piece(0, { function: { arguments: ':1}' } }),
    { choices: [{ delta: {}, finish_reason: 'tool_calls' }] },
  ])
  expect(parsed).toMatchObject({
    reply: {
      finish: 'tool-calls',
      toolCalls: [
        { id: 'a', name: 'run', arguments: '{"x":1}' },
        { id: 'b', name: 'stop', arguments: '' },
      ],
    },
  })
})

test('a streamed reply equals the same reply in one piece, however it is cut', () => {
  const pieces = fc.array(fc.record({ content: fc.string(), reasoning_content: fc.string() }), {
    minLength: 1,
    maxLength: 10,
  })
  fc.assert(
    fc.property(pieces, fc.constantFrom('stop', 'length', 'content_filter'), (parts, finish) => {
      const whole = {
        content: parts.map(({ content }) => content).join(''),
        reasoning_content: parts.map(({ reasoning_content }) => reasoning_content).join(''),
      }
      const usage = { prompt_tokens: 5, completion_tokens: 6 }
      const one = dialect.parse({ choices: [{ message: whole, finish_reason: finish }], usage }, { messages: [] })
      const many = streamed([
        ...parts.map((delta) => ({ choices: [{ delta }] })),
        { choices: [{ delta: {}, finish_reason: finish }] },
        { choices: [], usage },
      ])
      expect(many).toEqual(one)
    }),
  )
})

test('any JSON at all is a reply, a fault or malformed, and never a crash', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (document) => {
      expect(['reply', 'fault', 'malformed']).toContain(dialect.parse(document, { messages: [] }).kind)
      expect(['reply', 'fault', 'malformed', 'cut']).toContain(streamed([document]).kind)
    }),
  )
})

test.each([
  [{ data: [{ id: 'a', max_model_len: 5 }] }, [{ id: 'a', contextTokens: 5, outputTokens: null }]],
  [{ data: [{ id: 'a', meta: { n_ctx: 6 } }] }, [{ id: 'a', contextTokens: 6, outputTokens: null }]],
  [{ data: [{ id: 'a', context_length: 'x' }] }, [{ id: 'a', contextTokens: null, outputTokens: null }]],
  [{ models: [] }, null],
])('a list of models is read: %j', (document, expected) => {
  expect(dialect.parseModels(document)).toEqual(expected)
})
