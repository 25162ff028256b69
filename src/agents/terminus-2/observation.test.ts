import fc from 'fast-check'
import { expect, test } from 'vitest'
import { limitOutput } from './observation.ts'

test('a long text keeps both ends, and says how much is missing', () => {
  const text = 'a'.repeat(6000) + 'b'.repeat(6000)
  expect(limitOutput(text, 10_000)).toBe(
    `${'a'.repeat(5000)}\n[... output limited to 10000 bytes; 2000 interior bytes omitted ...]\n${'b'.repeat(5000)}`,
  )
})

test('a character cut in two is left out', () => {
  expect(limitOutput('€'.repeat(5), 10)).toBe('€\n[... output limited to 10 bytes; 9 interior bytes omitted ...]\n€')
})

test('a text is as it was up to the limit, and never much longer', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const whole = Buffer.from(text).toString('utf8')
      const limited = limitOutput(whole, 100)
      if (Buffer.byteLength(whole) <= 100) expect(limited).toBe(whole)
      else expect(Buffer.byteLength(limited)).toBeLessThan(100 + 80)
    }),
  )
})
