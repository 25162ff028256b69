import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { compileIgnore, splitLines } from './digests.ts'

/**
 * What pathspec 1.1.1, the library of Harbor's packager, says about every path under every set of lines:
 * `[p for p in paths if PathSpec.from_lines('gitignore', lines).match_file(p)]`, run once with Python.
 */
const { paths, verdicts } = JSON.parse(
  readFileSync(new URL('../../../test/fixtures/harbor-task/gitignore-verdicts.json', import.meta.url), 'utf8'),
) as { paths: string[]; verdicts: { lines: string[]; ignored: string[] }[] }

test.each(verdicts)('agrees with pathspec on $lines', ({ lines, ignored }) => {
  expect(paths.filter(compileIgnore(lines))).toEqual(ignored)
})

test('passes over lines that are no pattern', () => {
  const ignore = compileIgnore(['# y', '', '   ', 'x\\', '[z-a]', 'y'])
  expect(['x', 'x\\', 'y', '# y', ' ', 'z'].filter(ignore)).toEqual(['y'])
})

test('takes no longer for a pattern made to be slow', () => {
  const ignore = compileIgnore([`${'a*'.repeat(200)}b`, `${'**/a/'.repeat(50)}b`])
  expect(ignore(`tests/${'a'.repeat(250)}`)).toBe(false)
  expect(ignore(`${'a/'.repeat(500)}c`)).toBe(false)
})

test('splits lines where Python does', () => {
  expect(splitLines('a\r\nb\rc\u2028d\fe')).toEqual(['a', 'b', 'c', 'd', 'e'])
})
