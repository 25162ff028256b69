import { expect, test } from 'vitest'
import { encodedLength, toTrainingRow } from './encode-row.ts'
import { chatTemplates } from './known-keys.ts'

const tags = {
  ...{ role_tag: 'role', content_tag: 'content', user_tag: 'user', assistant_tag: 'assistant', system_tag: 'system' },
  ...{ observation_tag: 'tool', function_tag: 'function_call' },
}
const shape = { formatting: 'sharegpt', columns: { messages: 'messages' }, tags } as const
const reply = (content: string, train: boolean) => ({ role: 'assistant', content, train })
const ask = { role: 'user', content: 'go on', train: false }
/** The end of a turn is one token. */
const endTokens = 2

/** The length with one token per character, except in the end of a turn. */
function lengthOf(row: object, maskHistory = false) {
  const template = chatTemplates.qwen3_nothink
  const turns = toTrainingRow({ ...row }, shape)
  if (template === undefined || turns === null) throw new Error('expected a template and a row')
  const count = (text: string) => text.length
  return encodedLength(turns, { template, cutoffLen: 10_000, maskHistory, trainOnPrompt: false, hasBos: false, count })
}

test('replies that a row wants left out are not counted as trainable, and mask_history leaves the last one', () => {
  const row = (...flags: boolean[]) => ({
    messages: flags.flatMap((train, i) => [ask, reply('a'.repeat(10 ** i), train)]),
  })
  const each = [1, 10, 100].map((size) => size + endTokens)
  const [one = 0, two = 0, three = 0] = each
  expect(lengthOf(row(true, true, true)).trainable).toBe(one + two + three)
  expect(lengthOf(row(true, false, true)).trainable).toBe(one + three)
  expect(lengthOf(row(true, true, true), true).trainable).toBe(three)
  expect(lengthOf(row(true, true, false), true).trainable).toBe(0)
  expect(lengthOf(row(false, false, false)).trainable).toBe(0)
  expect(lengthOf({ ...row(true, true, true), train_on: 'last' }).trainable).toBe(three)
  expect(lengthOf(row(false, false, false)).tokens).toBe(lengthOf(row(true, true, true)).tokens)
})
