import fc from 'fast-check'
import { expect, test } from 'vitest'
import { markedNumber, markNumbers } from './exact-numbers.ts'
import { renderToolCall } from './tool-call.ts'

/** How a call with these arguments, given as text, is rendered. */
function rendered(args: string): string {
  const document = JSON.parse(markNumbers(`{"tool_calls": [{"function_name": "f", "arguments": ${args}}]}`))
  const [call] = document.tool_calls
  return renderToolCall(call.function_name, call.arguments)
}

test.each([
  ['{"a": 1.0}', '{"a": 1.0}'],
  ['{"a":1}', '{"a": 1}'],
  ['{"a": -0.0, "b": 1e5, "c": 1E-7, "d": 0.10}', '{"a": -0.0, "b": 100000.0, "c": 1e-07, "d": 0.1}'],
  ['{"a": 12345678901234567890}', '{"a": 12345678901234567890}'],
  ['{"a": [1.0, {"b": 2.0}], "c": "x 1.0 \\"} 2.0"}', '{"a": [1.0, {"b": 2.0}], "c": "x 1.0 \\"} 2.0"}'],
  ['{"1.0": "1.0", "é": "\\u0001/"}', '{"1.0": "1.0", "é": "\\u0001/"}'],
  ['{"arguments": {"x": 1.0}}', '{"arguments": {"x": 1.0}}'],
])('%s is printed as Python prints it', (args, expected) => {
  expect(rendered(args)).toBe(`<tool_call>\n{"name": "f", "arguments": ${expected}}\n</tool_call>`)
})

test('numbers elsewhere stay numbers', () => {
  const json = '{"cost_usd": 1.0, "message": "\\"arguments\\": {\\"a\\": 1.0}", "k \\"arguments": {"a": 1.0}}'
  expect(markNumbers(json)).toBe(json)
})

test('any JSON means the same after marking, but for the marked numbers', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (inside, beside) => {
      const json = JSON.stringify({ beside, arguments: { inside }, after: [{ arguments: { inside } }] })
      const plain = (value: unknown): unknown => {
        if (typeof value === 'string') return markedNumber(value) === null ? value : Number(markedNumber(value))
        if (Array.isArray(value)) return value.map(plain)
        if (typeof value !== 'object' || value === null) return value
        return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
      }
      expect(plain(JSON.parse(markNumbers(json)))).toEqual(JSON.parse(json))
    }),
  )
})

test('text that is no JSON is left for the parser to refuse', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const broken = `{"arguments": {"a": ${text}`
      const parses = (json: string) => {
        try {
          JSON.parse(json)
          return true
        } catch {
          return false
        }
      }
      expect(parses(markNumbers(broken))).toBe(parses(broken))
    }),
  )
})
