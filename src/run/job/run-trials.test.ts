import { expect, test } from 'vitest'
import { jobConfig } from '../../../test/fakes/configs.ts'
import type { RetryConfig } from '../../core/job.ts'
import type { TrialEnd } from '../../core/trial.ts'
import { retryWaitSec } from './run-trials.ts'

const retry: RetryConfig = { ...jobConfig().retry, maxRetries: 3, minWaitSec: 2, waitMultiplier: 3, maxWaitSec: 10 }

test('waits grow by the factor up to the cap, then the ending stands', () => {
  expect([1, 2, 3, 4].map((tries) => retryWaitSec(failed('SandboxError'), tries, retry))).toEqual([2, 6, 10, null])
})

test('a failure that is not retryable is never retried', () => {
  expect(retryWaitSec(failed('TaskError', false), 1, retry)).toBeNull()
})

test('a score and a cancel stand', () => {
  expect(retryWaitSec({ kind: 'cancelled' }, 1, retry)).toBeNull()
  expect(retryWaitSec({ kind: 'scored', rewards: { reward: 0 }, exit: { kind: 'finished' } }, 1, retry)).toBeNull()
})

test('only included codes are retried, and exclusion wins', () => {
  const only = { ...retry, include: ['A', 'B'], exclude: ['B'] }
  expect(['A', 'B', 'C'].map((code) => retryWaitSec(failed(code), 1, only))).toEqual([2, null, null])
})

function failed(code: string, retryable = true): TrialEnd {
  return { kind: 'failed', failure: { boundary: 'sandbox', code, message: '', stack: '', retryable, occurredAt: '' } }
}
