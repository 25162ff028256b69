import { expect, test } from 'vitest'
import { columnsOf, cutMiddle, wrap } from './fit.ts'

test('a long line loses its middle, counted in columns', () => {
  expect(cutMiddle('short', 5)).toBe('short')
  expect(cutMiddle('abcdefghijklmnopqrstuvwxyz', 14)).toBe('abcdef ... xyz')
  expect(columnsOf(cutMiddle('漢字'.repeat(50), 40))).toBeLessThanOrEqual(40)
})

test('words are wrapped, and a word longer than a line is broken', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
  expect(wrap('abcdefghij k', 4)).toEqual(['abcd', 'efgh', 'ij k'])
  expect(wrap('', 4)).toEqual([''])
})
