// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are Dockerfile variables, not ours.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { expand } from './expand.ts'

const variables = new Map([
  ['a', 'one'],
  ['empty', ''],
  ['path', '/usr/local/lib'],
  ['file', 'archive.tar.gz'],
])

describe('expand', () => {
  test.each([
    ['$a', 'one'],
    ['${a}', 'one'],
    ['x${a}y$a', 'xoneyone'],
    ['$missing-', '-'],
    ['${missing}', ''],
    ['$', '$'],
    ['cost: 5$', 'cost: 5$'],
    ['$/x', '$/x'],
    ['$1x', 'x'],
    ['${a:-no}', 'one'],
    ['${missing:-yes}', 'yes'],
    ['${empty:-yes}', 'yes'],
    ['${empty-no}', ''],
    ['${missing-yes}', 'yes'],
    ['${missing:-${a}}', 'one'],
    ['${missing:-"a }b"}', 'a }b'],
    ['${a:+set}', 'set'],
    ['${empty:+set}', ''],
    ['${empty+set}', 'set'],
    ['${missing+set}', ''],
    ['${a:?needed}', 'one'],
    ['${path#/*/}', 'local/lib'],
    ['${path##*/}', 'lib'],
    ['${path%/*}', '/usr/local'],
    ['${path%%/*}', ''],
    ['${file%.*}', 'archive.tar'],
    ['${file%%.*}', 'archive'],
    ['${file/a/A}', 'Archive.tar.gz'],
    ['${file//a/A}', 'Archive.tAr.gz'],
    ['${file/.*/}', 'archive'],
  ])('turns %s into %s', (text, expected) => {
    expect(expand(text, variables)).toBe(expected)
  })

  test.each([
    ['\\$a', '$a'],
    ['\\${a}', '${a}'],
    ["'$a'", '$a'],
    ['"$a b"', 'one b'],
    ['"a\\"b"', 'a"b'],
    ['"a\\nb"', 'a\\nb'],
    ['a\\nb', 'anb'],
    ['a\\ b', 'a b'],
    ['it"\'"s', "it's"],
    ['end\\', 'end'],
  ])('resolves quotes and escapes of %s', (text, expected) => {
    expect(expand(text, variables)).toBe(expected)
  })

  test.each(['${', '${a', '${}', '${:-x}', '${a^}', '${a:', "'open", '"open', '${missing:?gone}', '${a/b}'])(
    'refuses %s',
    (text) => {
      expect(() => expand(text, variables)).toThrow(/./)
    },
  )

  test('uses the escape character it is given', () => {
    expect(expand('C:\\x`$a', variables, { escapeChar: '`' })).toBe('C:\\x$a')
  })

  test('leaves quotes alone where they are plain text', () => {
    expect(expand('"$a" \'$a\'', variables, { quotes: false })).toBe('"one" \'one\'')
  })

  test('keeps what a value contains as it is', () => {
    expect(expand('$v', new Map([['v', '$a "x" \\n']]))).toBe('$a "x" \\n')
  })

  test('takes a hostile pattern in its stride', () => {
    const long = new Map([['x', 'a'.repeat(5000)]])
    expect(expand(`\${x%%${'*a'.repeat(500)}b}`, long)).toHaveLength(5000)
  })

  test('refuses substitutions that are too deep', () => {
    const nested = (depth: number) => `${'${none:-'.repeat(depth)}x${'}'.repeat(depth)}`
    expect(expand(nested(100), variables)).toBe('x')
    expect(() => expand(nested(100_000), variables)).toThrow('more than 100 substitutions are inside one another')
  })

  test('gives what its parts give, one after the other', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const text = parts.map(([source]) => source).join('')
        expect(expand(text, variables)).toBe(parts.map(([, value]) => value).join(''))
      }),
    )
  })
})

const word = fc.stringMatching(/^[a-z0-9./ =:,]*$/)

/** A piece of source that cannot merge with its neighbour, and its expansion. */
const part: fc.Arbitrary<readonly [source: string, value: string]> = fc.oneof(
  fc.string({ unit: 'grapheme' }).map((text) => [text.replace(/[\\$'"]/g, '\\$&'), text] as const),
  fc.string().map((text) => [`'${text.replaceAll("'", '')}'`, text.replaceAll("'", '')] as const),
  fc.string().map((text) => [`"${text.replace(/[\\$"]/g, '\\$&')}"`, text] as const),
  fc.constantFrom(...variables.entries()).map(([name, value]) => [`\${${name}}`, value] as const),
  word.map((other) => [`\${none:-${other}}`, other] as const),
  word.map((other) => [`\${empty:-${other}}`, other] as const),
  word.map((other) => [`\${a:-${other}}`, 'one'] as const),
  word.map((other) => [`\${a:+${other}}`, other] as const),
  word.map((other) => [`\${none:+${other}}`, ''] as const),
)
