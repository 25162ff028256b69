import fc from 'fast-check'
import { expect, test } from 'vitest'
import { visible, visibleJson } from './visible.ts'

test('letters, line breaks, tabs and emoji stay', () => {
  const text = 'a é 漢 \t\n 👩‍💻 {}\\'
  expect(visible(text)).toBe(text)
})

test('what a terminal would obey is written out', () => {
  expect(visible('\u001b[2J\u0007\r\u009b31m\u202e\ud800\u2028\0')).toBe(
    '\\x1b[2J\\x07\\x0d\\x9b31m\\u202e\\ud800\\u2028\\x00',
  )
})

/** Any code point, including lone surrogates; the library's own unit for this takes seconds to set up. */
const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code)) })

test('nothing that comes out controls anything', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(visible(text).replace(/[\n\t\u200d]/g, '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Surrogate}]/u)
    }),
  )
})

test('JSON parses to the same value, and nothing in it controls anything', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const json = visibleJson(JSON.stringify({ [text]: [text] }, null, 2))
      expect(JSON.parse(json)).toEqual({ [text]: [text] })
      expect(json.replace(/[\n\u200d]/g, '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Surrogate}]/u)
    }),
  )
})
