import { describe, expect, test } from 'vitest'
import { parseRewards, type RewardFiles } from './rewards.ts'

const files = (txt: string | null, json: string | null): RewardFiles => ({ txt, json })

describe('what a verifier wrote', () => {
  test.each([
    ['1', { reward: 1 }],
    [' 0.5\n', { reward: 0.5 }],
    ['-1e-3', { reward: -0.001 }],
    ['.25', { reward: 0.25 }],
    ['2.', { reward: 2 }],
  ])('reward.txt %j is read', (text, rewards) => {
    expect(parseRewards(files(text, null), 'txt')).toEqual(rewards)
  })

  test.each([
    ['{"a": 1, "b": 0.5}', { a: 1, b: 0.5 }],
    ['0.75', { reward: 0.75 }],
  ])('reward.json %j is read', (text, rewards) => {
    expect(parseRewards(files(null, text), 'json')).toEqual(rewards)
  })

  test('the precedence decides when both files exist', () => {
    expect(parseRewards(files('0', '{"reward": 1}'), 'txt')).toEqual({ reward: 0 })
    expect(parseRewards(files('0', '{"reward": 1}'), 'json')).toEqual({ reward: 1 })
  })

  test.each([
    ['nothing at all', files(null, null), 'RewardFileNotFoundError'],
    ['an empty text', files(' \n', null), 'RewardFileEmptyError'],
    ['an empty document', files(null, ''), 'RewardFileEmptyError'],
    ['an object without rewards', files(null, '{}'), 'RewardFileEmptyError'],
    ['words', files('one', null), 'VerifierOutputParseError'],
    ['infinity', files('inf', null), 'VerifierOutputParseError'],
    ['a hexadecimal number', files('0x10', null), 'VerifierOutputParseError'],
    ['half a document', files(null, '{"reward": '), 'VerifierOutputParseError'],
    ['a list', files(null, '[1]'), 'VerifierOutputParseError'],
    ['a number as text', files(null, '{"reward": "1"}'), 'VerifierOutputParseError'],
    ['a name that is not one', files(null, '{"__proto__": 1}'), 'VerifierOutputParseError'],
  ])('%s is the verifier’s failure', (_, given, code) => {
    expect(() => parseRewards(given, 'txt')).toThrow(
      expect.objectContaining({ boundary: 'verifier', code, retryable: false }),
    )
  })
})

test('digits without end are refused at once', () => {
  expect(() => parseRewards(files(`${'0'.repeat(1024 * 1024)}x`, null), 'txt')).toThrow('expected a finite number')
})
