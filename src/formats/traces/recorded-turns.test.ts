import { expect, test } from 'vitest'
import { recordedTurns } from './recorded-turns.ts'

const tool_definitions = JSON.stringify([
  { type: 'function', function: { name: 'bash', description: 'Runs it', parameters: { type: 'object' } } },
])
const row = {
  conversations: [
    { role: 'system', content: 'rules' },
    { role: 'user', content: 'do it' },
    { role: 'assistant', content: '' },
    { role: 'tool', content: 'f' },
    { role: 'assistant', content: 'done' },
  ],
  tool_calls: [{ message: 2, id: 'c1', name: 'bash', arguments: '{"command":"ls"}' }],
  tool_results: [{ message: 3, id: 'c1' }],
  reasoning: [{ message: 4, content: 'all there' }],
  turn_marks: [],
  tool_definitions,
  trace_source: 'main',
}

test('every reply comes with what was sent before it, its calls and its thoughts', () => {
  const turns = recordedTurns('a', row)
  expect(turns).toMatchObject([
    {
      ...{ row: 'a', turn: 1, source: 'main', usage: null },
      sent: [{ role: 'system' }, { role: 'user', content: 'do it' }],
      tools: [{ name: 'bash', description: 'Runs it', parameters: { type: 'object' } }],
      reply: { text: '', finish: 'tool-calls', toolCalls: [{ id: 'c1', name: 'bash', arguments: '{"command":"ls"}' }] },
    },
    {
      turn: 2,
      sent: [{}, {}, { toolCalls: [{ id: 'c1' }] }, { role: 'tool', content: 'f', toolCallId: 'c1' }],
      reply: { text: 'done', reasoning: 'all there', toolCalls: [], finish: 'stop' },
    },
  ])
})

test('thoughts that stand before a reply are no part of it', () => {
  const inline = '<think>\nall there\n</think>\n\ndone'
  const conversations = row.conversations.map((message) =>
    message.content === 'done' ? { ...message, content: inline } : message,
  )
  expect(recordedTurns('a', { ...row, conversations })).toMatchObject([{}, { reply: { text: 'done' } }])
})

test('marks tell how a reply ended, and which replies were only context', () => {
  const turn_marks = [
    { message: 2, mark: 'context' },
    { message: 4, mark: 'truncated' },
  ]
  expect(recordedTurns('a', { ...row, turn_marks })).toMatchObject([
    { turn: 1, reply: { text: 'done', finish: 'length' } },
  ])
})

test('rows for chat templates tell the same', () => {
  const calls = [{ id: 'c1', type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } }]
  const messages = row.conversations.map((message, i) => ({
    ...message,
    tool_calls: i === 2 ? calls : null,
    tool_call_id: i === 3 ? 'c1' : null,
  }))
  const { reasoning, turn_marks, trace_source } = row
  const about = { reasoning, turn_marks, trace_source, tools: tool_definitions }
  expect(recordedTurns('a', { messages, ...about })).toEqual(recordedTurns('a', row))
  const [prompt, completion] = [messages.slice(0, -1), messages.slice(-1)]
  expect(recordedTurns('a', { prompt, completion, ...about })).toEqual(recordedTurns('a', row))
})

test('ShareGPT’s spelling is understood where it has no calls of tools', () => {
  const conversations = [
    { from: 'human', value: 'do it' },
    { from: 'gpt', value: 'done' },
  ]
  expect(recordedTurns('a', { conversations })).toMatchObject([{ sent: [{ role: 'user' }], reply: { text: 'done' } }])
  const called = [...conversations, { from: 'observation', value: 'f' }]
  expect(recordedTurns('a', { conversations: called })).toMatch(/part of its texts/)
})

test.each([
  [{}, /conversations/],
  [{ conversations: 'hello' }, /conversations/],
  [{ conversations: [{ role: 'wizard', content: 'x' }] }, /"wizard"/],
  [{ ...row, tool_calls: 7 }, /tool_calls/],
])('%j says why it cannot be played', (bad, why) => {
  expect(recordedTurns('a', bad)).toMatch(why)
})
