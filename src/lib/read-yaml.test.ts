import { expect, test, vi } from 'vitest'
import { isTooDeep } from './parse-json.ts'
import { readYaml } from './read-yaml.ts'

test.each([
  ['nested lists', `${'['.repeat(200)}${']'.repeat(200)}`],
  ['lists nested without end', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
  ['maps nested by indents', Array.from({ length: 300 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')],
  ['a list that holds itself', '&a [*a]'],
])('%s are refused as a mistake in the text', (_, text) => {
  expect(() => readYaml(text)).toThrow(/levels deep/)
})

test('aliases that expand to too much are refused', () => {
  const rows = Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`)
  expect(() => readYaml(`a0: &a0 x\n${rows.join('\n')}`)).toThrow(ReferenceError)
})

test('ordinary documents are read, also those that use a value twice', () => {
  expect(readYaml('a: &x { b: [1, 2] }\nc: *x')).toEqual({ a: { b: [1, 2] }, c: { b: [1, 2] } })
  expect(isTooDeep({ a: [{ b: [1] }] })).toBe(false)
})

test('no part of a text is printed, however odd it is', () => {
  const warn = vi.spyOn(process, 'emitWarning')
  expect(readYaml('%odd \u001b[2J\n---\na: !mine 1\n')).toEqual({ a: '1' })
  expect(warn).not.toHaveBeenCalled()
})

test('a merge of a non-map is an error in the text', () => {
  expect(() => readYaml('a: &a |\n<<: *a', { merge: true })).toThrow(SyntaxError)
})

test('a text with thousands of mistakes is refused with the place of the first and no excerpt', () => {
  // The library looks for the excerpts of all mistakes, which takes the square of the text.
  expect(() => readYaml(`a: b{{\n${'{'.repeat(3000)}\n${'# x\n'.repeat(3000)}${'%s'.repeat(2000)}`)).toThrow(
    /^[^\n]* at line \d+, column \d+$/,
  )
})
