import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { UserError } from '../../core/errors.ts'
import { type DataRow, recognizeShape, roleNames, type ShapeHints } from './recognize.ts'

const talk = (
  role: string,
  content: string,
  names: readonly [string, string, string] = ['system', 'user', 'assistant'],
) => names.map((name) => ({ [role]: name, [content]: `said by ${name}` }))

const recognize = (row: DataRow, hints: ShapeHints = {}) => recognizeShape([row], hints, 'data.jsonl')

function refusal(row: DataRow, hints: ShapeHints = {}): string {
  try {
    recognize(row, hints)
  } catch (error) {
    if (error instanceof UserError) return `${error.message} | ${error.hint}`
    throw error
  }
  throw new Error('expected a refusal')
}

describe('rows of messages', () => {
  test.each([
    ['messages', 'role', 'content', ['system', 'user', 'assistant']],
    ['conversations', 'role', 'content', ['system', 'user', 'assistant']],
    ['conversations', 'from', 'value', ['system', 'human', 'gpt']],
    ['messages', 'from', 'value', ['system', 'user', 'model']],
    ['dialog', 'from', 'content', ['system', 'human', 'assistant']],
  ] as const)('%s of %s and %s are recognized', (column, role, content, names) => {
    const shape = recognize({ id: 7, [column]: talk(role, content, names), score: 0.5, notes: ['a', 'b'] })
    expect(shape).toMatchObject({
      formatting: 'sharegpt',
      columns: { messages: column },
      tags: { role_tag: role, content_tag: content, user_tag: names[1], assistant_tag: names[2], system_tag: 'system' },
    })
  })

  test('every spelling of every role gets the tag that stands for it, whatever else is in the row', () => {
    const tags = Object.keys(roleNames) as (keyof typeof roleNames)[]
    const one = fc.record(
      Object.fromEntries(tags.map((tag) => [tag, fc.constantFrom(...roleNames[tag])])) as Record<
        string,
        fc.Arbitrary<string>
      >,
    )
    const keys = fc.constantFrom(['role', 'content'] as const, ['from', 'value'] as const)
    const others = fc.dictionary(
      fc.string().filter((name) => !/^(messages|system|tools|tool_definitions)$/.test(name)),
      fc.oneof(fc.string(), fc.integer(), fc.constant(null)),
    )
    fc.assert(
      fc.property(one, keys, others, fc.array(fc.string()), (names, [role, content], more, said) => {
        const turns = tags.map((tag, i) => ({ [role]: names[tag], [content]: said[i] ?? '' }))
        const { tags: found } = recognize({ ...more, messages: turns })
        expect(found).toMatchObject({ ...names, role_tag: role, content_tag: content })
      }),
    )
  })

  test('tags that no row uses are filled so that none stands for two roles', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...roleNames.user_tag),
        fc.constantFrom(...roleNames.assistant_tag),
        (user, assistant) => {
          const { tags } = recognize({
            messages: [
              { role: user, content: 'a' },
              { role: assistant, content: 'b' },
            ],
          })
          const names = Object.entries(tags ?? {}).filter(([tag]) => !['role_tag', 'content_tag'].includes(tag))
          expect(new Set(names.map(([, name]) => name)).size).toBe(names.length)
        },
      ),
    )
  })

  test('tool calls, tools and a system prompt in columns of their own are used', () => {
    const call = { role: 'assistant', content: null, tool_calls: [{ function: { name: 'ls', arguments: '{}' } }] }
    const turns = [
      { role: 'user', content: 'list' },
      call,
      { role: 'tool', content: 'a' },
      { role: 'assistant', content: 'a' },
    ]
    expect(recognize({ messages: turns, tools: '[{"name":"ls"}]', system: 'Be brief.' })).toMatchObject({
      formatting: 'openai',
      columns: { messages: 'messages', tools: 'tools', system: 'system' },
      tags: { observation_tag: 'tool' },
    })
    expect(recognize({ messages: talk('role', 'content'), tool_definitions: '[{"name":"ls"}]' })).toMatchObject({
      formatting: 'sharegpt',
      columns: { tools: 'tool_definitions' },
    })
    expect(recognize({ messages: talk('role', 'content'), tools: [{ name: 'ls' }] }).formatting).toBe('openai')
    expect(recognize({ messages: talk('role', 'content'), tool_definitions: null }).columns).toEqual({
      messages: 'messages',
    })
  })

  test('what flags say wins', () => {
    const row = {
      messages: talk('role', 'content'),
      chat: [
        { who: 'boss', says: 'go' },
        { who: 'bot', says: 'gone' },
      ],
    }
    const tags = { role_tag: 'who', content_tag: 'says', user_tag: 'boss', assistant_tag: 'bot' }
    expect(recognize(row, { columns: { messages: 'chat' }, tags })).toMatchObject({
      columns: { messages: 'chat' },
      tags,
    })
  })
})

test('one instruction and one answer are recognized', () => {
  expect(recognize({ instruction: 'a', input: '', output: 'b' })).toEqual({
    formatting: 'alpaca',
    columns: { prompt: 'instruction', query: 'input', response: 'output' },
  })
  expect(recognize({ prompt: 'a', completion: 'b' }).columns).toEqual({ prompt: 'prompt', response: 'completion' })
})

describe('what cannot be trained on is refused', () => {
  test.each<[string, DataRow, ShapeHints, RegExp]>([
    ['unknown columns', { text: 'a', label: 3 }, {}, /found the columns text, label \| pass its name with --messages/],
    ['a list of other things', { messages: [{ a: 1 }] }, {}, /found the columns messages/],
    ['messages as a JSON text', { messages: '[{"role":"user"}]' }, {}, /found the columns messages/],
    [
      'an unknown role',
      { messages: talk('role', 'content', ['user', 'wizard', 'assistant']) },
      {},
      /unknown roles "wizard"/,
    ],
    ['two names of a role', { messages: talk('role', 'content', ['user', 'human', 'gpt']) }, {}, /both user and human/],
    ['nobody who answers', { messages: [{ role: 'user', content: 'a' }] }, {}, /expected messages of an assistant/],
    [
      'parts in place of text',
      {
        messages: [
          { role: 'user', content: [{ type: 'text' }] },
          { role: 'assistant', content: '' },
        ],
      },
      {},
      /found a list/,
    ],
    [
      'a column that is not there',
      { messages: talk('role', 'content') },
      { columns: { messages: 'chat' } },
      /expected a column chat/,
    ],
    [
      'two columns of messages',
      { a: talk('role', 'content'), b: talk('role', 'content') },
      {},
      /several columns hold messages: a, b/,
    ],
  ])('%s', (_name, row, hints, message) => {
    expect(refusal(row, hints)).toMatch(message)
  })

  test('no rows', () => {
    expect(() => recognizeShape([], {}, 'data.jsonl')).toThrow(/expected rows to train on, found none/)
  })

  test('any record at all is recognized or refused in two lines, never a crash', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom('messages', 'conversations', 'text', 'system', 'tools', 'prompt', 'output'),
          fc.jsonValue(),
        ),
        (row) => {
          try {
            expect(recognize(row as DataRow).formatting).toMatch(/sharegpt|openai|alpaca/)
          } catch (error) {
            expect(error).toBeInstanceOf(UserError)
          }
        },
      ),
    )
  })
})
