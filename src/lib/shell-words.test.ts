import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shellQuote } from './shell.ts'
import { splitShellWords } from './shell-words.ts'

test('words are split as a shell splits them', () => {
  const line = `--stage both --limit 200 --note "it's \\"here\\"" a\\ b '' 'x  y'z`
  const shell = execFileSync('bash', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' })
  expect(splitShellWords(line)).toEqual(shell.split('\0').slice(0, -1))
})

test('what was quoted comes back as it was', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme-ascii' })), (words) => {
      expect(splitShellWords(words.map(shellQuote).join(' '))).toEqual(words.map(String))
    }),
  )
})

test('a text with an open quote is not a command line', () => {
  expect(splitShellWords(`a "b`)).toBeNull()
})
