import fc from 'fast-check'
import { expect, test } from 'vitest'
import { modelReply } from '../../../test/fakes/model-reply.ts'
import { agentRecord, fixtureFiles, someTrajectory, trialFile } from '../../../test/traces.ts'
import type { ChatMessage, ModelReply, ModelRequest } from '../../core/model.ts'
import type { TrialFile } from '../../core/trace.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { ExchangeLog } from '../exchanges/write-exchanges.ts'
import { makeTraces, type TraceOptions } from './make-traces.ts'
import { shareGptOf } from './sharegpt.ts'

const defaults: TraceOptions = {
  form: 'exact',
  reasoning: 'column',
  episodes: 'last',
  filter: 'all',
  subagents: 'separate',
  turns: 'alternate',
  sharegpt: false,
}

function traces(files: readonly TrialFile[], over: Partial<TraceOptions> = {}, record: TrialRecord = agentRecord()) {
  const made = [...makeTraces({ job: 'some-job', record, files }, { ...defaults, ...over })]
  return {
    rows: made.flatMap((trace) => ('row' in trace ? [trace.row] : [])),
    drops: made.flatMap((trace) => ('drop' in trace ? [trace.drop] : [])),
  }
}

function says(text: string, more: Partial<ModelReply> = {}): ModelReply {
  return modelReply(text, { usage: { inputTokens: 10, cacheTokens: 0, outputTokens: 2 }, ...more })
}

const user = (content: string): ChatMessage => ({ role: 'user', content })
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content })

type Call = readonly [request: ModelRequest, reply: ModelReply, mark?: 'unparsed']

function exchanges(...calls: readonly Call[]): TrialFile[] {
  const log = new ExchangeLog()
  const lines = calls.flatMap(([request, reply, mark]) => {
    const line = log.reply(request, reply)
    return mark ? [line, log.mark(line.call, mark)] : [line]
  })
  return [trialFile('exchanges.jsonl', [log.head(), ...lines].map((line) => `${JSON.stringify(line)}\n`).join(''))]
}

test('a row is what was sent and what was replied, byte for byte; a reply that could not be read is kept and marked', () => {
  const noise = 'bash: no job control in this shell\n$ '
  const { rows, drops } = traces(
    exchanges(
      [{ messages: [user('Reply with JSON.\n')] }, says('Sure! {"commands"'), 'unparsed'],
      [
        { messages: [user('Reply with JSON.\n'), assistant('Sure! {"commands"'), user('No JSON.')] },
        says('  {"commands": []}\n'),
      ],
      [
        {
          messages: [
            user('Reply with JSON.\n'),
            assistant('Sure! {"commands"'),
            user('No JSON.'),
            assistant('  {"commands": []}\n'),
            user(noise),
          ],
        },
        says('cut of', { finish: 'length' }),
      ],
    ),
  )
  expect(drops).toEqual([])
  expect(rows).toMatchObject([
    {
      conversations: [
        user('Reply with JSON.\n'),
        assistant('Sure! {"commands"'),
        user('No JSON.'),
        assistant('  {"commands": []}\n'),
        user(noise),
        assistant('cut of'),
      ],
      turn_marks: [
        { message: 1, mark: 'unparsed' },
        { message: 5, mark: 'truncated' },
      ],
      episode: 'episode-2',
      turns: 3,
      context_messages: 0,
      trace_source: 'main',
      instruction: 'Reply with JSON.',
    },
  ])
})

test('what was sent is in the row whatever it is', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1 })
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 5 }), (said) => {
      const messages: ChatMessage[] = []
      const calls = said.map(([asked, replied]): Call => {
        messages.push(user(asked))
        const call: Call = [{ messages: [...messages] }, says(replied)]
        messages.push(assistant(replied))
        return call
      })
      const all = traces(exchanges(...calls)).rows.flatMap(({ conversations }) => conversations)
      const expected = said.every(([, replied]) => replied.trim() !== '') ? messages : expect.any(Array)
      expect(all).toEqual(expected)
    }),
  )
})

test('each context that was handed off is a row; what it was handed is context; calls beside it are rows of their own', () => {
  const handed = [user('task'), user('questions?'), assistant('what now?')]
  const files = exchanges(
    [{ messages: [user('task')] }, says('one')],
    [{ messages: [user('task'), assistant('one'), user('seen')] }, says('two')],
    [{ messages: [user('task'), user('sum up')], purpose: 'summarization-1-summary' }, says('a summary')],
    [{ messages: [...handed, user('answers')] }, says('three')],
    [{ messages: [...handed, user('answers'), assistant('three'), user('seen')] }, says('four')],
  )
  const { rows } = traces(files)
  expect(
    rows.map(({ trace_source, episode, turns, context_messages, turn_marks }) => ({
      trace_source,
      episode,
      turns,
      context_messages,
      turn_marks,
    })),
  ).toEqual([
    {
      trace_source: 'main',
      episode: 'episode-1',
      turns: 2,
      context_messages: 0,
      turn_marks: [{ message: 3, mark: 'before-handoff' }],
    },
    { trace_source: 'summarization-1-summary', episode: 'episode-0', turns: 1, context_messages: 0, turn_marks: [] },
    {
      trace_source: 'main',
      episode: 'episode-3',
      turns: 4,
      context_messages: 3,
      turn_marks: [{ message: 2, mark: 'context' }],
    },
  ])
  const all = traces(files, { episodes: 'all', subagents: 'drop' })
  expect(all.rows.map(({ episode }) => episode)).toEqual(['episode-0', 'episode-1', 'episode-2', 'episode-3'])
  expect(all.drops).toMatchObject([{ reason: 'subagent-left-out', traceSource: 'summarization-1-summary' }])
})

const tools = [{ name: 'run', description: 'runs', parameters: { type: 'object' } }]
const called: ModelReply = says('Let me look.', {
  reasoning: 'An ls will do.',
  toolCalls: [{ id: 'server-1', name: 'run', arguments: '{"command": "ls"}' }],
  finish: 'tool-calls',
})

test('tools, calls, results and reasoning have columns of their own, and replies are the model’s even when handed back otherwise', () => {
  const handedBack: ChatMessage = {
    role: 'assistant',
    content: 'Let me look. ',
    toolCalls: [{ id: 'agent-1', name: 'run', arguments: '{"command":"ls"}' }],
  }
  const system: ChatMessage = { role: 'system', content: 'You are an agent.' }
  const result: ChatMessage = { role: 'tool', content: 'a b', toolCallId: 'agent-1' }
  const calls: Call[] = [
    [{ messages: [system, user('look')], tools }, called],
    [{ messages: [system, user('look'), handedBack, result], tools }, says('a and b')],
  ]
  const [row] = traces(exchanges(...calls), { sharegpt: true }).rows
  expect(row).toMatchObject({
    conversations: [
      system,
      user('look'),
      assistant('Let me look.'),
      { role: 'tool', content: 'a b' },
      assistant('a and b'),
    ],
    tool_calls: [{ message: 2, id: 'agent-1', name: 'run', arguments: '{"command": "ls"}' }],
    tool_results: [{ message: 3, id: 'agent-1' }],
    reasoning: [{ message: 2, content: 'An ls will do.' }],
    tool_definitions: JSON.stringify([{ type: 'function', function: tools[0] }]),
  })
  expect(row?.conversations_sharegpt).toEqual([
    { from: 'system', value: 'You are an agent.' },
    { from: 'human', value: 'look' },
    {
      from: 'function_call',
      value: 'Let me look.\n<tool_call>\n[{"name":"run","arguments":{"command":"ls"}}]\n</tool_call>',
    },
    { from: 'observation', value: 'a b' },
    { from: 'gpt', value: 'a and b' },
  ])
  const [inline] = traces(exchanges(...calls), { reasoning: 'inline' }).rows
  expect(inline?.conversations[2]?.content).toBe('<think>\nAn ls will do.\n</think>\n\nLet me look.')
  expect(inline?.reasoning).toEqual(row?.reasoning)
})

test('what a trainer takes has sides that take turns, whatever follows what', () => {
  const message = fc.record({ role: fc.constantFrom('system', 'user', 'assistant', 'tool'), content: fc.string() })
  fc.assert(
    fc.property(fc.array(message), (messages) => {
      const said = shareGptOf(messages as ChatMessage[])
      const sides = said.filter(({ from }) => from !== 'system').map(({ from }) => from === 'gpt')
      expect(sides.every((side, i) => i === 0 || side !== sides[i - 1])).toBe(true)
    }),
  )
})

test('half of a surrogate pair becomes a space, and nothing else changes', () => {
  const [row] = traces(exchanges([{ messages: [user('a\ud800b')] }, says('ok\udc00')])).rows
  expect(row?.conversations).toEqual([user('a b'), assistant('ok ')])
})

test('a trial of Harbor gives rows when its replies are there as they came, and a reason when they are not', () => {
  expect(traces(fixtureFiles('plain')).drops).toMatchObject([
    { reason: 'not-exact', detail: expect.stringContaining('--form readable') },
  ])
  const base = agentRecord()
  const agent = { ...base.config.agent, kwargs: { trajectory_config: { raw_content: true } } }
  const raw = { ...base, config: { ...base.config, agent } }
  const steps = [
    { step_id: 1, source: 'user', message: 'Reply with JSON.' },
    { step_id: 2, source: 'agent', message: '{"commands": []}', observation: { results: [{ content: 'seen' }] } },
    { step_id: 3, source: 'agent', message: '{"done": true}', observation: { results: [{ content: 'unread' }] } },
  ]
  expect(traces([trialFile('trajectory.json', someTrajectory({ steps }))], {}, raw).rows).toMatchObject([
    {
      conversations: [
        user('Reply with JSON.'),
        assistant('{"commands": []}'),
        user('seen'),
        assistant('{"done": true}'),
      ],
    },
  ])
  const episodes = [
    trialFile('episode-0/prompt.txt', 'Reply with JSON.'),
    trialFile('episode-0/response.txt', '{"commands": []}\n'),
    trialFile('episode-1/prompt.txt', 'seen'),
    trialFile('episode-1/response.txt', 'done'),
    trialFile('episode-2/prompt.txt', 'never answered'),
  ]
  const found = traces([...fixtureFiles('plain'), ...episodes], { episodes: 'all' })
  expect(found.rows.map(({ episode, conversations }) => [episode, conversations.length])).toEqual([
    ['episode-0', 2],
    ['episode-1', 4],
  ])
  expect(found.rows.at(-1)?.conversations).toEqual([
    user('Reply with JSON.'),
    assistant('{"commands": []}\n'),
    user('seen'),
    assistant('done'),
  ])
  // A summarized run's prompts do not show what the model still knew.
  const summarized = { ...base, metadata: { summarization_count: 1 } }
  expect(traces([...fixtureFiles('plain'), ...episodes], {}, summarized).drops).toMatchObject([{ reason: 'not-exact' }])
})

test.each([
  ['no model asked', [], 'no-trajectory'],
  ['no reply', exchanges(), 'no-agent-turn'],
  ['a file that is cut', [trialFile('exchanges.jsonl', '{"schema":"exchanges/1"}\n{"call"')], 'trajectory-unreadable'],
  ['a file that is too large', [trialFile('exchanges.jsonl', 'x', { size: 1 << 30 })], 'trajectory-too-large'],
  ['nobody asked', exchanges([{ messages: [assistant('hm')] }, says('hello')]), 'no-user-turn'],
] as const)('%s is a drop with its reason', (_, files, reason) => {
  const { rows, drops } = traces(files)
  expect(rows).toEqual([])
  expect(drops).toMatchObject([{ reason }])
})
