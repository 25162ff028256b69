import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseIgnore } from './context.ts'
import { matchesGlob, parsePathGlob } from './glob.ts'

describe('parsePathGlob', () => {
  test.each([
    ['*.txt', 'a.txt', true],
    ['*.txt', 'd/a.txt', false],
    ['a?c', 'abc', true],
    ['a?c', 'a/c', false],
    ['[a-c]x', 'bx', true],
    ['[^a-c]x', 'bx', false],
    ['[^a-c]x', 'zx', true],
    ['[]]', ']', true],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['d/*/f', 'd/x/f', true],
    ['a**b', 'axxb', true],
    ['a**b', 'ax/xb', false],
    ['', '', true],
  ])('%s on %s is %s', (pattern, path, expected) => {
    expect(matchesGlob(parsePathGlob(pattern, { deep: false }), path)).toBe(expected)
  })

  test.each(['[a', '[', 'x\\', '[a-'])('refuses %s', (pattern) => {
    expect(() => parsePathGlob(pattern, { deep: false })).toThrow(pattern)
  })

  test('a plain path matches itself and nothing else', () => {
    const path = fc.stringMatching(/^[a-z/.]{1,12}$/)
    fc.assert(
      fc.property(path, path, (one, other) => {
        expect(matchesGlob(parsePathGlob(one, { deep: true }), other)).toBe(one === other)
      }),
    )
  })

  test('a hostile pattern costs no more than its length', () => {
    expect(matchesGlob(parsePathGlob('*a'.repeat(1000), { deep: true }), 'a'.repeat(2000).concat('b'))).toBe(false)
  })
})

describe('parseIgnore', () => {
  test.each([
    ['node_modules', 'node_modules/x/y.js', true],
    ['node_modules', 'a/node_modules', false],
    ['**/node_modules', 'a/b/node_modules/x', true],
    ['**/node_modules', 'node_modules', true],
    ['**/*.log', 'a/b.log', true],
    ['**/*.log', 'b.log', true],
    ['**.log', 'a/b.log', true],
    ['/abs', 'abs', true],
    ['dir/', 'dir/x', true],
    ['./dir', 'dir', true],
    ['dir/**', 'dir/x/y', true],
    ['dir/**', 'dir', false],
    ['a/**/z', 'a/z', true],
    ['a/**/z', 'a/b/c/z', true],
    ['a/**/z', 'a/bz', false],
    ['# comment\n\n  \n*.md', 'x.md', true],
    ['*.md\n!README.md', 'README.md', false],
    ['*.md\n!README.md\nREADME*', 'README.md', true],
    ['*\n!src', 'src/deep/x', false],
    ['*\n!src', 'other', true],
    ['.', 'x', false],
    ['*', 'x\n', true],
  ])('%j on %s is %s', (text, path, expected) => {
    expect(parseIgnore(text).leavesOut(path)).toBe(expected)
  })

  test('says whether something may come back', () => {
    expect(parseIgnore('a\n!b').hasExceptions).toBe(true)
    expect(parseIgnore('a\nb').hasExceptions).toBe(false)
  })

  test('refuses a lone exclamation mark', () => {
    expect(() => parseIgnore('!')).toThrow('!')
  })
})
