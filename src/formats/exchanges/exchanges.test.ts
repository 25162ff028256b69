import fc from 'fast-check'
import { expect, test } from 'vitest'
import { modelReply } from '../../../test/fakes/model-reply.ts'
import type { ChatMessage, ModelReply, ModelRequest } from '../../core/model.ts'
import { plainMessage } from './exchange.ts'
import { type Exchanges, readExchanges } from './read-exchanges.ts'
import { ExchangeLog } from './write-exchanges.ts'

function user(content: string): ChatMessage {
  return { role: 'user', content }
}

function assistant(content: string): ChatMessage {
  return { role: 'assistant', content }
}

/** The file that these calls produce. */
function fileOf(
  calls: readonly (readonly [Partial<ModelRequest> & Pick<ModelRequest, 'messages'>, ModelReply])[],
): string {
  const log = new ExchangeLog()
  const lines = [log.head(), ...calls.map(([request, reply]) => log.reply(request, reply))]
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

function read(text: string): Exchanges {
  return readExchanges(Buffer.from(text))
}

function requestsIn({ threads }: Exchanges) {
  const calls = threads.flatMap((thread) => thread.calls)
  return calls
    .sort((a, b) => a.call - b.call)
    .map(({ sent, tools, reply }) => ({ messages: sent.map(({ message }) => message), tools, text: reply.text }))
}

const word = fc.constantFrom('a', 'b', ' a', 'b\n', '', '\ud800', 'é"\\')
const call = fc.record({ id: word, name: fc.constantFrom('run', 'read'), arguments: word })
const message: fc.Arbitrary<ChatMessage> = fc
  .record(
    {
      role: fc.constantFrom('system', 'user', 'assistant', 'tool'),
      content: word,
      reasoning: word,
      toolCalls: fc.array(call, { maxLength: 2 }),
      toolCallId: word,
    },
    { requiredKeys: ['role', 'content'] },
  )
  .map((value) => value as ChatMessage)
const tools = fc.array(fc.record({ name: word, description: word, parameters: fc.constant({}) }), { maxLength: 2 })
const reply = fc
  .record({ text: word, reasoning: fc.option(word), toolCalls: fc.array(call, { maxLength: 1 }) })
  .map(({ text, ...more }) => modelReply(text, more))

/** What real agents do: mostly they continue, sometimes they change an earlier word, sometimes they start over. */
const step = fc.record({
  how: fc.constantFrom('goes-on', 'goes-on', 'goes-on', 'again', 'shortens', 'begins', 'new-system', 'respells'),
  more: fc.array(message, { maxLength: 2 }),
  tools,
  reply,
  purpose: fc.option(fc.constantFrom('aside', 'other'), { nil: undefined }),
})

function asked(
  before: readonly ChatMessage[],
  { how, more }: { how: string; more: readonly ChatMessage[] },
): ChatMessage[] {
  if (how === 'begins') return [...more]
  if (how === 'again') return before.slice(0, -1)
  if (how === 'shortens') return [...before.slice(0, 1), ...more]
  if (how === 'new-system')
    return [{ role: 'system', content: `it is ${more.length} o'clock` }, ...before.slice(1), ...more]
  if (how === 'respells') return [...before.map((each) => ({ ...each, content: `${each.content} ` })), ...more]
  return [...before, ...more]
}

test('whatever was sent is read again exactly, however the requests follow each other', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      let known: ChatMessage[] = []
      const calls = steps.map((each) => {
        const messages = asked(known, each)
        const { text, toolCalls } = each.reply
        known = [...messages, { role: 'assistant', content: text, toolCalls }]
        const request = { messages, tools: each.tools, ...(each.purpose !== undefined && { purpose: each.purpose }) }
        return [request, each.reply] as const
      })
      const found = read(fileOf(calls))
      expect(found.cut).toBeNull()
      expect(requestsIn(found)).toEqual(
        calls.map(([request, said]) => ({
          messages: request.messages.map(plainMessage),
          tools: request.tools,
          text: said.text,
        })),
      )
    }),
  )
})

test('any prefix of a file gives the calls it holds whole', () => {
  const text = fileOf([
    [{ messages: [user('do')] }, modelReply('first')],
    [{ messages: [user('do'), assistant('first'), user('more')] }, modelReply('second')],
  ])
  const ends = [...text.matchAll(/\n/g)].map(({ index }) => index + 1)
  for (let length = 0; length <= text.length; length++) {
    const whole = ends.filter((end) => end <= length).length - 1
    const found = read(text.slice(0, length))
    expect(requestsIn(found)).toHaveLength(Math.max(0, whole))
    expect(found.cut === null).toBe(length === 0 || ends.includes(length))
  }
})

test('a continued conversation is one thread, and every message is written once', () => {
  const messages: ChatMessage[] = [user('the task')]
  const calls = Array.from({ length: 50 }, (_, i) => {
    const entry = [{ messages: [...messages] }, modelReply(`reply ${i}`)] as const
    messages.push(assistant(`reply ${i}`), user(`result ${i}`))
    return entry
  })
  const text = fileOf(calls)
  expect(text.split('the task')).toHaveLength(2)
  expect(text.split('result 7"')).toHaveLength(2)
  const { threads } = read(text)
  expect(threads.map(({ id, conversation, calls }) => [id, conversation, calls.length])).toEqual([[1, 'main', 50]])
  expect(threads[0]?.calls.at(-1)?.sent.map(({ call }) => call)).toEqual(
    messages.slice(0, -2).map((_, i) => (i % 2 === 1 ? (i + 1) / 2 : null)),
  )
})

test('a hand-off begins a thread of its own, calls beside it are named, and neither repeats what is known', () => {
  const history = [user('the task'), assistant('reply'), user('result')]
  const text = fileOf([
    [{ messages: history.slice(0, 1) }, modelReply('reply')],
    [{ messages: [...history, user('sum up')], purpose: 'summarization-1-summary' }, modelReply('a summary')],
    [{ messages: [...history.slice(0, 1), user('go on from: a summary')] }, modelReply('going on')],
  ])
  expect(text.split('the task')).toHaveLength(2)
  const { threads } = read(text)
  expect(threads.map(({ conversation, calls }) => [conversation, calls.map(({ reply }) => reply.text)])).toEqual([
    ['main', ['reply']],
    ['summarization-1-summary', ['a summary']],
    ['main', ['going on']],
  ])
  // Replies from another thread are not to be learned from in this one.
  expect(threads[1]?.calls[0]?.sent.map(({ call }) => call)).toEqual([null, null, null, null])
})

test('white space, ids and system messages may change on the way back; the words of others may not', () => {
  const tools = [{ name: 'run', description: '', parameters: {} }]
  const system = (time: string): ChatMessage => ({ role: 'system', content: `You help. It is ${time}.` })
  const toolCalls = [{ id: 'a', name: 'run', arguments: '{}' }]
  const handedBack: ChatMessage = {
    role: 'assistant',
    content: 'so ',
    toolCalls: [{ id: 'b', name: 'run', arguments: '{}' }],
  }
  const result: ChatMessage = { role: 'tool', content: 'done', toolCallId: 'b' }
  const { threads } = read(
    fileOf([
      [{ messages: [system('one'), user('do')], tools }, modelReply('so', { toolCalls, finish: 'tool-calls' })],
      [{ messages: [system('two'), user('do'), handedBack, result], tools }, modelReply('well')],
      [
        {
          messages: [
            system('three'),
            { role: 'system', content: 'inserted' },
            user('do'),
            handedBack,
            result,
            assistant('well'),
          ],
          tools,
        },
        modelReply('end'),
      ],
      [{ messages: [system('three'), user('do!'), handedBack, result], tools }, modelReply('other')],
    ]),
  )
  expect(threads.map(({ calls }) => calls.map(({ call }) => call))).toEqual([[1, 2, 3], [4]])
  const [, second, third] = threads[0]?.calls ?? []
  expect(second?.sent.map(({ message, call }) => [message.content, call])).toEqual([
    ['You help. It is two.', null],
    ['do', null],
    ['so ', 1],
    ['done', null],
  ])
  expect(third?.sent.map(({ call }) => call)).toEqual([null, null, null, 1, null, 2])
})

test('an empty reply that is left out, and a reply that is asked for again, stay in their thread', () => {
  const { threads } = read(
    fileOf([
      [{ messages: [user('do')] }, modelReply('')],
      [{ messages: [user('do\n\ndo it')] }, modelReply('lost')],
      [{ messages: [user('do\n\ndo it')] }, modelReply('found')],
    ]),
  )
  expect(threads.map(({ calls }) => calls.length)).toEqual([3])
})

test('calls of a black-box agent outside its conversation with tools get a name', () => {
  const tools = [{ name: 'run', description: '', parameters: {} }]
  const rules: ChatMessage = { role: 'system', content: 'You are an agent.' }
  const { threads } = read(
    fileOf([
      [{ messages: [{ role: 'system', content: 'Make a title.' }, user('do')] }, modelReply('A title')],
      [{ messages: [rules, user('do')], tools }, modelReply('doing')],
      [{ messages: [rules, user('do, shortly')], tools }, modelReply('goes on')],
    ]),
  )
  expect(threads.map(({ conversation }) => conversation)).toEqual(['side-1', 'main', 'main'])
})

test('marks say what became of a reply', () => {
  const log = new ExchangeLog()
  const lines = [
    log.head(),
    log.reply({ messages: [user('do')] }, modelReply('?')),
    log.mark(1, 'unparsed'),
    log.reply({ messages: [user('do'), assistant('?'), user('again')] }, modelReply('cut of', { finish: 'length' })),
    log.failure({}, 'RateLimitError', 'later'),
  ]
  expect(log.mark(9, 'unparsed')).toBeNull()
  const found = read(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  expect(found.threads[0]?.calls.map(({ marks }) => marks)).toEqual([['unparsed'], ['truncated']])
  expect(found.failed).toEqual([{ call: 3, code: 'RateLimitError' }])
})

test.each([
  ['another schema', '{"schema":"exchanges/2"}\n', 'line 1'],
  ['no JSON', '{"schema":"exchanges/1"}\nhello\n', 'line 2: expected a JSON object'],
  [
    'more kept than there is',
    `{"schema":"exchanges/1"}\n${JSON.stringify({ ...lineOf(), keep: 5 })}\n`,
    'keeps 5 messages of 0',
  ],
  [
    'a change of nothing',
    `{"schema":"exchanges/1"}\n${JSON.stringify({ ...lineOf(), changed: [[3, null]] })}\n`,
    'changes message 3',
  ],
  ['nesting without end', `{"schema":"exchanges/1"}\n{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}\n`, 'line 2'],
])('%s ends the reading with a reason', (_, text, reason) => {
  const found = read(text)
  expect(found.threads).toEqual([])
  expect(found.cut).toContain(reason)
})

function lineOf() {
  return new ExchangeLog().reply({ messages: [user('do')] }, modelReply('done'))
}

test('any bytes are read to some end', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const head = Buffer.from('{"schema":"exchanges/1"}\n')
      expect(readExchanges(Buffer.concat([head, bytes])).threads).toEqual([])
    }),
  )
})
