import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ModelRequest } from '../core/model.ts'
import { anthropicMessages as dialect } from './anthropic-messages.ts'

const how = { stream: false, quirks: { maxTokensField: 'max_tokens', dropped: [] }, defaultOutputTokens: 4096 } as const
const plain = (value: unknown) => JSON.parse(JSON.stringify(value))
const marked = { cache_control: { type: 'ephemeral' } }

function streamed(events: readonly object[], request: ModelRequest = { messages: [] }) {
  const heard: string[] = []
  const stream = dialect.makeStream(request, (text) => heard.push(text))
  for (const event of events) if (stream.push(JSON.stringify(event))) break
  return { parsed: stream.end(), heard }
}

test('system text stands apart, a limit is always given, and the last turns may be cached', () => {
  const body = dialect.render(
    'm',
    {
      messages: [
        { role: 'system', content: 'be good' },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'two' },
        { role: 'user', content: 'three' },
        { role: 'assistant', content: 'four' },
      ],
      temperature: 0.2,
      stop: ['END'],
    },
    how,
  )
  expect(plain(body)).toEqual({
    model: 'm',
    max_tokens: 4096,
    system: 'be good',
    temperature: 0.2,
    stop_sequences: ['END'],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'one' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'two', ...marked }] },
      { role: 'user', content: [{ type: 'text', text: 'three', ...marked }] },
      { role: 'assistant', content: [{ type: 'text', text: 'four', ...marked }] },
    ],
  })
})

test('thinking is handed back signed, tool results share a turn, and empty text is left out', () => {
  const block = { type: 'thinking', thinking: 'hm', signature: 'sig' }
  const toolCalls = ['a', 'b'].map((id) => ({ id, name: 'run', arguments: '{"x":1}' }))
  const { messages } = dialect.render(
    'm',
    {
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: '', reasoningBlocks: [block], toolCalls },
        { role: 'tool', content: 'A', toolCallId: 'a' },
        { role: 'tool', content: 'B', toolCallId: 'b' },
      ],
    },
    how,
  )
  expect(plain(messages)).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'go', ...marked }] },
    {
      role: 'assistant',
      content: [
        block,
        { type: 'tool_use', id: 'a', name: 'run', input: { x: 1 } },
        { type: 'tool_use', id: 'b', name: 'run', input: { x: 1 }, ...marked },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a', content: 'A' },
        { type: 'tool_result', tool_use_id: 'b', content: 'B', ...marked },
      ],
    },
  ])
})

test.each([
  ['high', 20000, { type: 'enabled', budget_tokens: 16384 }],
  ['high', 8000, { type: 'enabled', budget_tokens: 7999 }],
  ['3000', 8000, { type: 'enabled', budget_tokens: 3000 }],
  ['500', 8000, { type: 'enabled', budget_tokens: 1024 }],
  ['none', 8000, undefined],
  ['high', 1000, undefined],
])('effort %s within %i tokens', (reasoningEffort, maxOutputTokens, thinking) => {
  const body = dialect.render('m', { messages: [], reasoningEffort, maxOutputTokens, temperature: 0.5 }, how)
  expect(body.thinking).toEqual(thinking)
  expect(body.temperature).toBe(thinking ? undefined : 0.5)
})

test('an answer of a given shape is asked for as a tool and comes back as text', () => {
  const request = { messages: [], jsonSchema: { name: 'answer', schema: { type: 'object' } } }
  const body = dialect.render('m', request, how)
  expect(body).toMatchObject({
    tools: [{ name: 'answer', input_schema: { type: 'object' } }],
    tool_choice: { type: 'tool', name: 'answer' },
  })
  const content = [{ type: 'tool_use', id: 'x', name: 'answer', input: { n: 1 } }]
  const parsed = dialect.parse({ content, stop_reason: 'tool_use' }, request)
  expect(parsed).toMatchObject({ reply: { text: '{"n":1}', toolCalls: [], finish: 'stop' } })
})

test('a whole reply is read: thinking with its signature, text, tool calls, counts', () => {
  const thinking = { type: 'thinking', thinking: 'hm', signature: 'sig' }
  const hidden = { type: 'redacted_thinking', data: 'xyz' }
  const content = [
    thinking,
    hidden,
    { type: 'text', text: 'ok' },
    { type: 'tool_use', id: 't', name: 'run', input: {} },
  ]
  const usage = { input_tokens: 5, output_tokens: 6, cache_read_input_tokens: 70, cache_creation_input_tokens: 8 }
  expect(dialect.parse({ content, stop_reason: 'tool_use', usage }, { messages: [] })).toEqual({
    kind: 'reply',
    reply: {
      text: 'ok',
      reasoning: 'hm',
      reasoningBlocks: [thinking, hidden],
      toolCalls: [{ id: 't', name: 'run', arguments: '{}' }],
      finish: 'tool-calls',
      usage: { inputTokens: 83, cacheTokens: 70, cacheWriteTokens: 8, outputTokens: 6 },
      tokens: null,
    },
  })
})

test('a stream is put together, counts of its start and end included', () => {
  const { parsed, heard } = streamed([
    { type: 'message_start', message: { usage: { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 1 } } },
    { type: 'ping' },
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig' } },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'he' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'llo' } },
    { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 't', name: 'run', input: {} } },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"x":' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '1}' } },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ])
  expect(heard).toEqual(['he', 'llo'])
  expect(parsed).toMatchObject({
    reply: {
      text: 'hello',
      reasoning: 'hm',
      reasoningBlocks: [{ type: 'thinking', thinking: 'hm', signature: 'sig' }],
      toolCalls: [{ id: 't', name: 'run', arguments: '{"x":1}' }],
      usage: { inputTokens: 7, cacheTokens: 2, outputTokens: 9 },
    },
  })
})

test.each([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content-filter'],
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
])('%s means %s', (reason, finish) => {
  expect(dialect.parse({ content: [], stop_reason: reason }, { messages: [] })).toMatchObject({ reply: { finish } })
})

test('an error inside a stream has the status its name stands for', () => {
  const { parsed } = streamed([{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }])
  expect(parsed).toMatchObject({ kind: 'fault', fault: { status: 529 } })
})

test('any JSON at all is a reply, a fault, malformed or cut, and never a crash', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (document) => {
      expect(['reply', 'fault', 'malformed']).toContain(dialect.parse(document, { messages: [] }).kind)
      expect(['fault', 'malformed', 'cut']).toContain(streamed([Object(document)]).parsed.kind)
    }),
  )
})

test('one model or a list of them is read', () => {
  const model = { id: 'a', contextTokens: 5, outputTokens: 6 }
  expect(dialect.parseModels({ data: [{ id: 'a', max_input_tokens: 5, max_tokens: 6 }] })).toEqual([model])
  expect(dialect.parseModels({ id: 'a', max_input_tokens: 5, max_tokens: 6 })).toEqual([model])
})
