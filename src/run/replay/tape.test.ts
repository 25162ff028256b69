import { expect, test } from 'vitest'
import type { ChatMessage, ModelFacts, ToolCall } from '../../core/model.ts'
import type { RecordedTrial, RecordedTurn } from '../../core/replay.ts'
import { Tape } from './tape.ts'

const facts: ModelFacts = {
  contextTokens: null,
  outputTokens: null,
  inputUsdPerToken: null,
  cacheUsdPerToken: null,
  outputUsdPerToken: null,
}
const recordedAt = new Date('2026-11-15T21:00:00Z')
const user = (content: string): ChatMessage => ({ role: 'user', content })
const said = (content: string): ChatMessage => ({ role: 'assistant', content })

/** The turns of a conversation in which user and model alternate. */
function turnsOf(row: string, texts: readonly string[], source = 'main'): RecordedTurn[] {
  const messages = texts.map((text, i) => (i % 2 === 0 ? user(text) : said(text)))
  return messages.flatMap((message, i): RecordedTurn[] => {
    if (message.role !== 'assistant') return []
    const reply = { text: message.content, reasoning: null, toolCalls: [], finish: 'stop' as const }
    return [{ row, turn: (i + 1) / 2, source, sent: messages.slice(0, i), tools: null, reply, usage: null }]
  })
}

function replay(turns: readonly RecordedTurn[], more: Partial<RecordedTrial> = {}) {
  const tape = new Tape({ turns, at: recordedAt, isCut: false, ...more }, new Date('2026-12-02T08:30:00Z'))
  const client = tape.client('m', facts)
  const ask = async (...messages: ChatMessage[]) => {
    const outcome = await client.complete({ messages })
    return outcome.kind === 'reply' ? outcome.reply.text : outcome.kind
  }
  return { tape, client, ask, verdict: (row = 'a', exit = 'finished') => tape.verdicts(exit).get(row) }
}

test('the agent that sends the same gets the same replies, for nothing', async () => {
  const { client, ask, verdict } = replay(turnsOf('a', ['do it', 'ls', 'f', 'done']))
  const heard: string[] = []
  const outcome = await client.complete({ messages: [user('do it')] }, { onText: (text) => void heard.push(text) })
  expect(outcome).toMatchObject({
    reply: { text: 'ls', costUsd: 0, attempts: 0, usage: { inputTokens: 0, outputTokens: 0, estimated: true } },
  })
  expect(heard).toEqual(['ls'])
  expect(await ask(user('do it'), said('ls'), user('f'))).toBe('done')
  expect(verdict()).toEqual({ kind: 'holds' })
})

test('clocks and random names may differ', async () => {
  const { ask, verdict } = replay(turnsOf('a', ['do it', 'date', 'Sun Nov 15 21:00:14 UTC 2026', 'done']))
  await ask(user('do it'))
  expect(await ask(user('do it'), said('date'), user('Wed Dec  2 08:30:02 UTC 2026'))).toBe('done')
  expect(verdict()).toEqual({ kind: 'holds' })
})

test('an observation that changed ends the run and is shown', async () => {
  const { ask, verdict } = replay(turnsOf('a', ['do it', 'ls', 'total 3', 'cat f', 'x', 'done']))
  await ask(user('do it'))
  expect(await ask(user('do it'), said('ls'), user('total 4'))).toBe('budget-exceeded')
  expect(await ask(user('do it'), said('ls'), user('total 3'))).toBe('budget-exceeded')
  const [what, expected, got] = ['the user message differs', 'total 3', 'total 4']
  expect(verdict()).toEqual({ kind: 'diverged', turn: 2, message: 3, what, expected, got })
})

test('another first prompt is a divergence at the first turn', async () => {
  const { ask, verdict } = replay(turnsOf('a', ['do it', 'ls']))
  await ask(user('do that'))
  expect(verdict()).toMatchObject({ kind: 'diverged', turn: 1, message: 1, expected: 'do it', got: 'do that' })
})

test('an agent that stops early has diverged, and so has one that goes on', async () => {
  const early = replay(turnsOf('a', ['do it', 'ls', 'f', 'done']))
  await early.ask(user('do it'))
  expect(early.verdict('a', 'the agent finished')).toMatchObject({
    kind: 'diverged',
    turn: 2,
    got: 'the agent finished',
  })
  const on = replay(turnsOf('a', ['do it', 'ls']))
  await on.ask(user('do it'))
  await on.ask(user('do it'), said('ls'), user('more?'))
  expect(on.verdict()).toMatchObject({ kind: 'diverged', what: expect.stringContaining('asked again'), got: 'more?' })
})

test('where a limit cut the recording, the replay ends too and holds', async () => {
  const { ask, verdict } = replay(turnsOf('a', ['do it', 'ls']), { isCut: true })
  await ask(user('do it'))
  expect(await ask(user('do it'), said('ls'), user('more?'))).toBe('budget-exceeded')
  expect(verdict()).toEqual({ kind: 'holds' })
})

test('a side conversation is kept apart from the main one, whichever is asked first', async () => {
  const { ask, verdict } = replay([
    ...turnsOf('a', ['do it', 'ls']),
    ...turnsOf('b', ['give it a title', 'Work'], 'side-1'),
  ])
  expect(await ask(user('give it a title'))).toBe('Work')
  expect(await ask(user('do it'))).toBe('ls')
  expect([verdict('a'), verdict('b')]).toEqual([{ kind: 'holds' }, { kind: 'holds' }])
})

test('rows that a divergence elsewhere kept from being played do not hold', async () => {
  const { ask, verdict } = replay([...turnsOf('a', ['do it', 'ls']), ...turnsOf('b', ['sum up', 'Work'], 'side-1')])
  await ask(user('do what?'))
  expect(verdict('b')).toMatchObject({ kind: 'diverged', got: expect.stringContaining('turn 1 of a') })
})

const handedOff = [
  ...turnsOf('main-1', ['do it', 'ls', 'f', 'cat f']),
  ...turnsOf('sum', ['do it', 'ls', 'f', 'cat f', 'sum up', 'short'], 'summarization-1-summary').slice(-1),
  ...turnsOf('main-2', ['go on: short', 'done']),
]

test('an agent that counts tokens hands off where the recording did', async () => {
  const { ask, client, verdict } = replay(handedOff)
  const history = [user('do it'), said('ls')]
  await ask(user('do it'))
  expect(client.countTokens(history).tokens).toBe(0)
  await ask(...history, user('f'))
  expect(client.countTokens([...history, user('f'), said('cat f')]).tokens).toBeGreaterThan(1e9)
  expect(await ask(...history, user('f'), said('cat f'), user('sum up'))).toBe('short')
  expect(await ask(user('go on: short'))).toBe('done')
  for (const row of ['main-1', 'sum', 'main-2']) expect(verdict(row)).toEqual({ kind: 'holds' })
})

test('a request that was recorded without a reply gets none, and what was kept of the conversation fits', async () => {
  const short = turnsOf('sum', ['do it', 'ls', 'sum up', 'short'], 'summarization-1-summary').slice(-1)
  const { ask, client, verdict } = replay([...handedOff.slice(0, 2), ...short, ...handedOff.slice(3)])
  await ask(user('do it'))
  await ask(user('do it'), said('ls'), user('f'))
  const all = [user('do it'), said('ls'), user('f'), said('cat f'), user('too much')]
  expect(await ask(...all)).toBe('context-exceeded')
  expect(client.countTokens(all.slice(0, 4)).tokens).toBeGreaterThan(1e9)
  expect(client.countTokens(all.slice(0, 2)).tokens).toBe(0)
  expect(await ask(...all.slice(0, 2), user('sum up'))).toBe('short')
  await ask(user('go on: short'))
  expect(verdict('main-2')).toEqual({ kind: 'holds' })
})

test('a request that no context limit explains is the one that is shown', async () => {
  const { ask, verdict } = replay([...turnsOf('a', ['do it', 'ls']), ...turnsOf('b', ['next', 'ok'])])
  await ask(user('do it'))
  expect(await ask(user('do it'), said('ls'), user('unheard of'))).toBe('context-exceeded')
  expect(await ask(user('nonsense'))).toBe('budget-exceeded')
  expect(verdict('b')).toMatchObject({ kind: 'diverged', turn: 1, message: 1, got: 'do it' })
})

const call = (id: string, command: string): ToolCall => ({ id, name: 'shell', arguments: `{"command": "${command}"}` })
const tools = [{ name: 'shell', description: 'runs', parameters: {} }]

function withTool(over: Partial<RecordedTurn> = {}): RecordedTurn[] {
  const reply = { text: 'Looking.', reasoning: 'hm', toolCalls: [call('call_1', 'ls')], finish: 'tool-calls' as const }
  const result: ChatMessage = { role: 'tool', content: 'f', toolCallId: 'call_1' }
  const asked: ChatMessage = { role: 'assistant', content: 'Looking.', reasoning: 'hm', toolCalls: reply.toolCalls }
  const last = { text: 'done', reasoning: null, toolCalls: [], finish: 'stop' as const }
  const both = { row: 'a', source: 'main', tools, usage: null }
  return [
    { ...both, turn: 1, sent: [user('do it')], reply },
    { ...both, turn: 2, sent: [user('do it'), asked, result], reply: last, ...over },
  ]
}

test('tool calls keep their ids, and may be handed back in another shape', async () => {
  const { client, verdict } = replay(withTool())
  const first = await client.complete({ messages: [user('do it')], tools })
  expect(first).toMatchObject({ reply: { toolCalls: [{ id: 'call_1' }], reasoning: 'hm', finish: 'tool-calls' } })
  const toolCalls = [{ id: 'fc-9', name: 'shell', arguments: '{"command":"ls"}' }]
  const result: ChatMessage = { role: 'tool', content: 'f', toolCallId: 'fc-9' }
  await client.complete({ messages: [user('do it'), { role: 'assistant', content: '', toolCalls }, result], tools })
  expect(verdict()).toEqual({ kind: 'holds' })
})

test.each([
  ['the command of a call', { toolCalls: [call('call_1', 'rm')] }, {}],
  ['the call a result belongs to', {}, { toolCallId: 'call_2' }],
  ['the result', {}, { content: 'g' }],
])('%s is a real difference', async (_, inReply, inResult) => {
  const { client, verdict } = replay(withTool())
  await client.complete({ messages: [user('do it')], tools })
  const asked: ChatMessage = { role: 'assistant', content: 'Looking.', toolCalls: [call('call_1', 'ls')], ...inReply }
  const result: ChatMessage = { role: 'tool', content: 'f', toolCallId: 'call_1', ...inResult }
  await client.complete({ messages: [user('do it'), asked, result], tools })
  expect(verdict()).toMatchObject({ kind: 'diverged', turn: 2 })
})

test('other tools are a real difference', async () => {
  const { client, verdict } = replay(withTool())
  await client.complete({ messages: [user('do it')], tools: [{ name: 'shell', description: 'runs!', parameters: {} }] })
  expect(verdict()).toMatchObject({ kind: 'diverged', turn: 1, what: 'the tool definitions differ' })
})
