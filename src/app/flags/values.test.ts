import { expect, test } from 'vitest'
import { wholeNumber } from './values.ts'

test('a whole number is one that can be counted to', () => {
  expect(wholeNumber(1)('42')).toBe(42)
  for (const text of ['0', '-1', '1.5', '1e3', '', ' 1', '9'.repeat(16), '9'.repeat(400)])
    expect(() => wholeNumber(1)(text), text).toThrow('expected a whole number')
  expect(() => wholeNumber(1)('0')).toThrow('of at least 1, got "0"')
  expect(() => wholeNumber(1)('9'.repeat(16))).toThrow('of at most 9007199254740991, got "9999999999999999"')
})
