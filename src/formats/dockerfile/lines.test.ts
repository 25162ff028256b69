import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BoundaryError } from '../../core/errors.ts'
import { readLines } from './lines.ts'

test('every character of an instruction and of a heredoc is found again in the file', () => {
  const piece = fc.constantFrom(
    ...[
      'FROM a',
      'RUN',
      ' x y',
      ' --mount=type=cache,target=/z ',
      ' \\\n',
      ' \\  \r\n',
      '\n',
      '\r\n',
      '# note',
      '  ',
      '\t',
    ],
    ...[' <<EOF\n', 'EOF\n', '\\', '\uFEFF', 'COPY <<-"B" /x\n\tb\n\tB\n', '# escape=`\n', ' `\n', 'ä😀'],
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
      const text = pieces.join('')
      for (const { rest, offsets, heredocs } of linesOf(text)) {
        expect(offsets.map((offset) => text.charAt(offset)).join('')).toBe(rest)
        for (const { raw, start } of heredocs) expect(text.slice(start, start + raw.length)).toBe(raw)
      }
    }),
    { numRuns: 1000 },
  )
})

test('a hostile line costs no more than its length', () => {
  const spaces = ' '.repeat(900_000)
  expect(readLines(`# syntax=a${spaces}b\nRUN a${spaces}b`, 'Dockerfile').lines).toMatchObject([
    { rest: `a${spaces}b` },
  ])
})

/** The lines of a file; none if it is malformed. */
function linesOf(text: string) {
  try {
    return readLines(text, 'Dockerfile').lines
  } catch (error) {
    expect(error).toBeInstanceOf(BoundaryError)
    return []
  }
}
