import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shellQuote } from '../../../lib/shell.ts'
import { readCommands } from './shell.ts'

test.each([
  ['a b && c|d ; e & f', 'a b / c / d / e / f'],
  ['(a b) || { c; }', 'a b / { c / }'],
  ['if a; then\n  b\nfi', 'if a / then / b / fi'],
  [`a 'b,c' "d\\"e" f\\;g h"i"'j'`, 'a b,c d"e f;g hij'],
  ['a 2>&1 >out 3<in b &> all c >> more', 'a b c'],
  ['a b>=1 c', 'a b c'],
  ['a # b && c\nd#e', 'a / d#e'],
  ['a \\\n  b', 'a b'],
  ["cat <<X <<-'Y' && a\nb\nX\nc\n\tY\nd", 'cat / a / d'],
  ['cat <<<word b', 'cat b'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell's, not ours
  ['a $(b (c)) `e;f` ${g:-h|i} j"$k" l', 'a $(b (c)) `e;f` ${g:-h|i} j$k l'],
  ['a "$(b', 'a $(b'],
  ["a 'b", 'a b'],
])('reads the commands of %j', (text, commands) => {
  const words = readCommands(text).map((command) => command.map(({ value }) => value).join(' '))
  expect(words.join(' / ')).toBe(commands)
})

test('knows which words the shell may make something else of', () => {
  const [words = []] = readCommands(`plain '$x' "*" \\$x $x "$x" *.deb {a,b} ~/c a~b requests[socks]`)
  expect(words.filter(({ dynamic }) => dynamic).map(({ value }) => value)).toEqual([
    '$x',
    '$x',
    '*.deb',
    '{a,b}',
    '~/c',
  ])
})

test('any words come back from the line they are quoted into, each character in its place', () => {
  const word = fc.string({ minLength: 1, maxLength: 8 }).map((text) => text.replaceAll('\0', ''))
  fc.assert(
    fc.property(
      fc.array(
        word.filter((text) => text !== ''),
        { minLength: 1, maxLength: 5 },
      ),
      (words) => {
        const line = words.map((text) => `'${text.replaceAll("'", "'\\''")}'`).join(' ')
        const [read = []] = readCommands(line)
        expect(read.map(({ value }) => value)).toEqual(words)
        for (const { value, at } of read) expect(at.map((place) => line.charAt(place)).join('')).toBe(value)
        expect(readCommands(words.map(shellQuote).join(' '))[0]?.map(({ value }) => value)).toEqual(words)
      },
    ),
  )
})

test('ends on any text', () => {
  const text = fc.string({ unit: fc.constantFrom(...'a b\\\n\'"$({})<>&|;#`\t\v\u00a0') })
  fc.assert(
    fc.property(text, (line) => {
      for (const { value, at } of readCommands(line).flat()) expect(at.length).toBe(value.length)
    }),
    { numRuns: 500 },
  )
})
