import { expect, test } from 'vitest'
import { BoundaryError } from '../../core/errors.ts'
import type { Rewards } from '../../core/rewards.ts'
import type { Step } from '../../core/task.ts'
import type { StepRecord, TrialEnd, TrialRecord } from '../../core/trial.ts'
import { failureOf } from '../trial/boundary.ts'
import { type Check, judge, judgeForger, judgeNop, judgeOracle, judgeRepeats, judgeStart } from './verdict.ts'

const facts = { provider: 'local', limits: { cpu: true, memory: true, pids: true, storage: true }, notes: [] }

function record(end: TrialEnd, more: Partial<TrialRecord> = {}): TrialRecord {
  return { end, sandbox: facts, isolation: 'fresh', steps: null, ...more } as TrialRecord
}
const scored = (rewards: Rewards | number) =>
  record({
    kind: 'scored',
    rewards: typeof rewards === 'number' ? { reward: rewards } : rewards,
    exit: { kind: 'finished' },
  })
const failed = (...[boundary, message, blame]: ConstructorParameters<typeof BoundaryError>) =>
  record({ kind: 'failed', failure: failureOf(new BoundaryError(boundary, message, blame)) })
const brief = ({ outcome, reasons }: Check) => [outcome, ...reasons].join(': ')

test('the oracle has to score exactly 1', () => {
  expect(brief(judgeOracle([scored(1)], []))).toBe('ok')
  expect(brief(judgeOracle([scored(1), scored(0.5)], []))).toBe('fail: scored 0.5, expected 1')
  expect(brief(judgeOracle([scored(2)], []))).toBe('fail: scored 2, expected 1')
})

test('an oracle that ran out of time is reported as such', () => {
  const late = record({ kind: 'scored', rewards: { reward: 0 }, exit: { kind: 'limit', limit: 'time' } })
  expect(brief(judgeOracle([late], []))).toBe('fail: scored 0, expected 1 (the solution ran out of time)')
})

test('without a reward named reward, all of them count', () => {
  expect(brief(judgeOracle([scored({ speed: 1.5, size: 1 })], []))).toBe('ok')
  expect(brief(judgeOracle([scored({ speed: 1.5, size: 0.9 })], []))).toBe(
    'fail: scored {"size":0.9,"speed":1.5}, expected 1',
  )
  expect(brief(judgeNop(scored({ speed: 1, size: 0 })))).toBe('ok')
  expect(brief(judgeNop(scored({ speed: 1, size: 1 })))).toMatch(/^fail/)
  expect(brief(judgeOracle([scored({ reward: 1, size: 0 })], []))).toBe('ok')
})

test('the oracle must pass every step', () => {
  const steps = [{ name: 'one' }, { name: 'two' }] as Step[]
  const ran = (count: number) => ({ ...scored(1), steps: Array<StepRecord>(count).fill({} as StepRecord) })
  expect(brief(judgeOracle([ran(2)], steps))).toBe('ok')
  expect(brief(judgeOracle([ran(1)], steps))).toMatch(/^fail: stopped before the last 1 of 2 steps/)
})

test('repeated runs have to agree on every reward', () => {
  expect(brief(judgeRepeats([scored({ reward: 1, a: 2 }), scored({ a: 2, reward: 1 })]))).toBe('ok')
  expect(brief(judgeRepeats([scored(1), scored(0), scored(1)]))).toBe('fail: 3 runs of the oracle disagree: 1, 0, 1')
  expect(brief(judgeRepeats([scored(1)]))).toBe('skipped')
})

test('tests that sometimes give no score are flaky, a lost sandbox is not', () => {
  const silent = failed('verifier', 'no reward', { code: 'RewardFileNotFoundError' })
  expect(brief(judgeRepeats([scored(1), silent]))).toBe(
    'fail: 2 runs of the oracle disagree: 1, no score (RewardFileNotFoundError)',
  )
  expect(brief(judgeRepeats([silent, silent]))).toBe('ok')
  expect(brief(judgeRepeats([scored(1), failed('sandbox', 'gone')]))).toMatch(/^unknown: 1 of 2/)
})

test('doing nothing must give a score below 1', () => {
  expect(brief(judgeNop(scored(0)))).toBe('ok')
  expect(brief(judgeNop(scored(1)))).toBe('fail: doing nothing scores 1')
  expect(brief(judgeNop(failed('verifier', 'no reward', { code: 'RewardFileNotFoundError' })))).toMatch(/^fail/)
})

test('forging must not pay; tests that refuse to score are fine', () => {
  expect(brief(judgeForger([scored(0)]))).toBe('ok')
  expect(brief(judgeForger([failed('verifier', 'no reward')]))).toBe('ok')
  expect(brief(judgeForger([failed('sandbox', 'gone'), scored(1)]))).toMatch(/^fail: a forged reward was accepted/)
  expect(brief(judgeForger([failed('sandbox', 'gone')]))).toMatch(/^unknown/)
})

test('the boundary to blame decides between rejected and unknown', () => {
  const never = (it: TrialRecord) => ({ ...it, sandbox: null })
  expect(judgeStart(never(failed('task', 'RUN false exited with 1'))).outcome).toBe('fail')
  expect(judgeStart(never(failed('sandbox', 'no space left'))).outcome).toBe('unknown')
  const unsupported = failed('task', 'needs a GPU', { code: 'UnsupportedEnvironmentError' })
  expect(judgeStart(never(unsupported)).outcome).toBe('unknown')
  expect(judgeStart(scored(0)).outcome).toBe('ok')
  expect(brief(judgeOracle([failed('agent', 'broke')], []))).toMatch(/^unknown: agent failed: AgentError: broke/)
})

test('one failed check rejects, one unknown check leaves it open', () => {
  const check = (outcome: Check['outcome']): Check => ({ name: 'nop', outcome, reasons: [] })
  expect(judge([check('ok'), check('skipped')])).toBe('accepted')
  expect(judge([check('ok'), check('unknown')])).toBe('unknown')
  expect(judge([check('unknown'), check('fail')])).toBe('rejected')
})
