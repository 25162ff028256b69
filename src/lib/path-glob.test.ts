import { expect, test } from 'vitest'
import { isGlob, parseGlob } from './path-glob.ts'

test.each([
  ['data/*.csv', ['data/a.csv'], ['data/x/a.csv', 'a.csv', 'data/a.csvx']],
  ['**/*.csv', ['a.csv', 'x/a.csv', 'x/y/a.csv'], ['a.json']],
  ['data/**.csv', ['data/a.csv', 'data/x/a.csv'], ['a.csv']],
  ['data', ['data', 'data/x', 'data/x/y'], ['database', 'x/data']],
  ['[b-d]?.{csv,json}', ['bx.csv', 'dy.json'], ['ax.csv', 'b.csv', 'bx.tsv']],
  ['[!a]/x', ['b/x'], ['a/x', '//x']],
  ['[z-a]', ['z', '-', 'a'], ['m']],
  ['a{', ['a{'], ['a']],
])('%s', (pattern, those, others) => {
  const glob = parseGlob(pattern)
  expect(those.filter((path) => !glob.test(path))).toEqual([])
  expect(others.filter((path) => glob.test(path))).toEqual([])
})

test('no pattern takes long', () => {
  const path = 'a'.repeat(250)
  expect(parseGlob(`${'*a'.repeat(100)}b`).test(path)).toBe(false)
  expect(parseGlob(`${'**/'.repeat(100)}b`).test('a/'.repeat(120))).toBe(false)
  expect(parseGlob('{a,b}'.repeat(40)).test(path)).toBe(false)
  expect(parseGlob('x'.repeat(100_000)).test(path)).toBe(false)
})

test('a name with one odd character is not a pattern', () => {
  expect(['a*', 'a?', '[a]', '{a,b}'].map(isGlob)).toEqual([true, true, true, true])
  expect(['a', 'a[', 'a]', 'a}', '{a', '[]'].map(isGlob)).toEqual([false, false, false, false, false, false])
})
