import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { estimateTokens } from './estimate-tokens.ts'

test('prose, code, hashes and digits come near what a real vocabulary counts', () => {
  // Counted with a 200k-token byte-pair vocabulary.
  expect(estimateTokens('The quick brown fox jumps over the lazy dog.')).toBeCloseTo(10, -0.5)
  expect(estimateTokens('我们今天去公园散步，天气很好。')).toBeCloseTo(11, -0.5)
  expect(estimateTokens('1234567890'.repeat(30)) / 100).toBeCloseTo(1.17, 1)
  const code = readFileSync('src/lib/estimate-tokens.ts', 'utf8')
  expect(code.length / estimateTokens(code)).toBeGreaterThan(2)
  expect(code.length / estimateTokens(code)).toBeLessThan(5)
})

test('a longer text is never fewer tokens, and nothing is none', () => {
  expect(estimateTokens('')).toBe(0)
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
      expect(estimateTokens(`${a}\n${b}`)).toBeGreaterThanOrEqual(estimateTokens(a))
    }),
  )
})
