import { expect, test } from 'vitest'
import { jsonOrText, parseJson } from './parse-json.ts'

test.each([
  ['null', null],
  ['3', 3],
  ['"3"', '3'],
  ['{"a":[true]}', { a: [true] }],
])('%s is JSON', (text, value) => {
  expect(parseJson(text)).toEqual(value)
  expect(jsonOrText(text)).toEqual(value)
})

test.each(['', '{', 'text', "'a'", '1 2', 'undefined'])('%j is none, and stays what was typed', (text) => {
  expect(parseJson(text)).toBeUndefined()
  expect(jsonOrText(text)).toBe(text)
})
