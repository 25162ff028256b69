import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fileLimits, jsonOrText, parseJson, readJson } from './parse-json.ts'

test.each([
  ['null', null],
  ['3', 3],
  ['"3"', '3'],
  ['{"a":[true]}', { a: [true] }],
])('%s is JSON', (text, value) => {
  expect(parseJson(text)).toEqual(value)
  expect(jsonOrText(text)).toEqual(value)
})

test.each(['', '{', 'text', "'a'", '1 2', 'undefined'])('%j is not JSON, and stays as typed', (text) => {
  expect(parseJson(text)).toBeUndefined()
  expect(jsonOrText(text)).toBe(text)
})

describe('a text beyond the limits', () => {
  const nested = (levels: number, open: string, close: string) => `${open.repeat(levels)}1${close.repeat(levels)}`

  test.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
    ['both', '[{"a\\"[[[":', '}]'],
  ])('of %s is refused by its depth, before anything is built of it', (_, open, close) => {
    const levels = fileLimits.depth / (open.startsWith('[{') ? 2 : 1)
    expect(() => readJson(nested(levels, open, close))).not.toThrow()
    expect(() => readJson(nested(levels + 1, open, close))).toThrow('nested more than 128 levels deep')
    expect(parseJson(nested(1_000_000, open, close))).toBeUndefined()
  })

  test('has too many values', () => {
    const limits = { depth: 10, nodes: 100 }
    expect(readJson(`[${'{},'.repeat(98)}{}]`, limits)).toHaveLength(99)
    expect(() => readJson(`[${'{},'.repeat(99)}{}]`, limits)).toThrow('more than 100 values')
    expect(() => readJson(`{${'"a":1,'.repeat(98)}"b":2}`, limits)).not.toThrow()
    expect(() => readJson(`{${'"a":1,'.repeat(99)}"b":2}`, limits)).toThrow('more than 100 values')
  })

  test('brackets and quotes inside strings do not count', () => {
    const text = JSON.stringify({ a: '[{"'.repeat(1000), 'b"[': '\\'.repeat(999), c: ['"', '\\"'] })
    expect(readJson(text)).toEqual(JSON.parse(text))
  })
})

test('nothing but this file and core reads JSON without a limit', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.startsWith('core/'))
    .filter((path) => /\bJSON\.parse\(/.test(readFileSync(join('src', path), 'utf8')))
  // Two copy their own values, one reads an index that its own user wrote within the limits.
  expect(files.sort()).toEqual([
    'app/recipe/set-in-document.ts',
    'lib/parse-json.ts',
    'run/replay/resumption.ts',
    'store/record-rows.ts',
  ])
})
