import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type IndexLine, parseIndexLine, recordTextIn, renderIndexLine } from './index-line.ts'

const whole = fc.oneof(fc.nat(), fc.constantFrom(0, Number.MAX_SAFE_INTEGER, 999_999_999_999_999))
/** Names like those of trials, and any others a directory can have. */
const trial = fc.oneof(
  fc.constantFrom('task-1__AbC', 'a.b-c_d'),
  fc.string({ unit: 'binary', minLength: 1 }).filter((name) => /^[^./\\\0][^/\\\0]*$/.test(name)),
)
const member = { batch: whole, trial, segment: whole, offset: whole, length: whole, sha256: fc.string() }
const anyLine: fc.Arbitrary<IndexLine> = fc.oneof(
  fc.record({ kind: fc.constant('trial' as const), ...member }),
  fc.record({ kind: fc.constant('failed-try' as const), ...member, nth: fc.integer({ min: 1 }) }),
  fc.record({ kind: fc.constant('forget' as const), batch: whole, trial }),
)

/** The line without its line feed, as a reader gets it. */
const bytesOf = (line: IndexLine, recordText: string | null) =>
  Buffer.from(renderIndexLine(line, recordText)).subarray(0, -1)

test('what was written is what is read', () => {
  fc.assert(
    fc.property(anyLine, fc.json(), (line, recordText) => {
      const record = line.kind === 'trial' ? recordText : null
      const bytes = bytesOf(line, record)
      expect(parseIndexLine(bytes)).toEqual(line)
      if (record !== null) expect(recordTextIn(bytes)).toBe(record)
    }),
  )
})

const usual = { kind: 'trial', batch: 7, trial: 'a', segment: 0, offset: 7, length: 9, sha256: 'ab' } as const

test('a line that says the same in another way says the same', () => {
  const text = bytesOf(usual, '{}').toString()
  const other = text.replace('"batch":7,"trial":"a"', '"trial":"\\u0061", "batch":7.0')
  expect(other).not.toBe(text)
  expect(parseIndexLine(Buffer.from(other))).toEqual(usual)
})

test.each([
  ['a number with a zero before it', (text: string) => text.replace('"offset":7', '"offset":07')],
  ['a number below zero', (text: string) => text.replace('"offset":7', '"offset":-7')],
  ['a number that is no whole one', (text: string) => text.replace('"offset":7', '"offset":7.5')],
  ['a number that is too large', (text: string) => text.replace('"offset":7', '"offset":99999999999999999999')],
  ['a name that leads out', (text: string) => text.replace('"trial":"a"', '"trial":"../a"')],
  ['a hidden name', (text: string) => text.replace('"trial":"a"', '"trial":".a"')],
  ['no place', (text: string) => text.replace('"segment":0,', '')],
  ['another kind', (text: string) => text.replace('"kind":"trial"', '"kind":"other"')],
  ['no record', (text: string) => text.replace(',"record":{}', '')],
  ['zeros in its record', (text: string) => text.replace('{}}', '{\0}}')],
  ['a cut record', (text: string) => text.slice(0, -3)],
])('a line with %s is none', (_, change) => {
  const text = bytesOf(usual, '{}').toString()
  expect(parseIndexLine(Buffer.from(text))).toEqual(usual)
  expect(change(text)).not.toBe(text)
  expect(parseIndexLine(Buffer.from(change(text)))).toBeNull()
})
