import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { failed, someRecord } from '../../test/records.ts'
import type { Rewards } from '../core/rewards.ts'
import type { TrialRecord } from '../core/trial.ts'
import { renderJobResult } from '../formats/harbor-job/job-result.ts'
import { parseTrialResult } from '../formats/harbor-job/trial-result-parse.ts'
import { makeLiveStats } from './live-stats.ts'
import { evalKeyOf, makeRewardTally, refuseUnknownMetrics } from './metrics.ts'
import { makePassTally, passAtK, passHatK } from './pass-at-k.ts'

const scored = (name: string, rewards: Rewards | null, over: Partial<TrialRecord> = {}) =>
  someRecord({ name, end: { kind: 'scored', rewards, exit: { kind: 'finished' } }, ...over })
const boardOf = (records: readonly TrialRecord[], ...args: Parameters<typeof makeLiveStats>) => {
  const liveStats = makeLiveStats(...args)
  for (const record of records) liveStats.add(record)
  return liveStats
}
const metric = (type: 'mean' | 'sum' | 'min' | 'max', ...rewards: (Rewards | null)[]) => {
  const tally = makeRewardTally()
  for (const reward of rewards) tally.add(reward)
  return Object.fromEntries(tally.compute({ type, kwargs: {} }))
}

test("Harbor's own trials add up to Harbor's own job result, byte by byte", () => {
  const fixture = (name: string) =>
    readFileSync(new URL(`../../test/fixtures/harbor-job/made-by-harbor/${name}`, import.meta.url), 'utf8')
  const names = ['hello__AbC23de', 'hello__Timeou2', 'heap__NoStart3', 'heap__Cancel44']
  const liveStats = boardOf(
    names.map((name) => parseTrialResult(fixture(`${name}/result.json`))),
    [
      { type: 'mean', kwargs: {} },
      { type: 'max', kwargs: {} },
    ],
  )
  const text = fixture('result.json')
  const { id, started_at, finished_at } = JSON.parse(text)
  const times = {
    startedAt: `${started_at}Z`,
    updatedAt: `${finished_at}.000000Z`,
    finishedAt: `${finished_at}.000000Z`,
  }
  process.env.TZ = 'UTC'
  expect(
    renderJobResult({
      id,
      ...times,
      totalTrials: 4,
      stats: liveStats.stats({ total: 4, running: 0, retries: 0, passAtK: true }),
    }),
  ).toBe(text)
})

describe('metrics', () => {
  test('a missing reward counts as 0', () => {
    expect(metric('mean', { reward: 1 }, null)).toEqual({ mean: 0.5 })
    expect(metric('min', { reward: 1 }, null)).toEqual({ min: 0 })
    expect(metric('max', { reward: -1 }, null)).toEqual({ max: 0 })
    expect(metric('max', { reward: -1 }, { reward: -2 })).toEqual({ max: -1 })
    expect(metric('mean', null, null)).toEqual({ mean: 0 })
    expect(metric('mean')).toEqual({})
  })

  test('several rewards are named one by one, in order', () => {
    expect(metric('mean', { b: 1, a: 2 }, { a: 4 })).toEqual({ a: 3, b: 0.5 })
    expect(metric('min', { b: 1, a: 2 }, { a: 4 })).toEqual({ a: 2, b: 0 })
  })

  test('small rewards are not lost among large ones', () => {
    expect(metric('sum', { r: 1e100 }, { r: 1 }, { r: -1e100 })).toEqual({ sum: 1 })
    expect(metric('sum', ...Array.from({ length: 10 }, () => ({ r: 0.1 })))).toEqual({ sum: 1 })
  })

  test('a metric that needs Python is refused, and so are options nobody reads', () => {
    expect(() => makeLiveStats([{ type: 'uv-script', kwargs: { script_path: 'm.py' } }])).toThrow(
      /^metrics\[0\]: uv-script needs Python/,
    )
    expect(() => refuseUnknownMetrics([{ type: 'mean', kwargs: { digits: 2 } }])).toThrow(
      'metrics[0]: mean takes no kwargs, got digits',
    )
  })
})

describe('pass@k', () => {
  const tally = (attempts: Record<string, (Rewards | null)[]>) => {
    const passes = makePassTally()
    for (const [task, rewards] of Object.entries(attempts)) for (const reward of rewards) passes.add(task, reward)
    return Object.fromEntries(passes.compute())
  }
  const times = (n: number, rewards: Rewards | null) => Array.from({ length: n }, () => rewards)

  test('k are powers of 2 and multiples of 5, up to the fewest attempts of any task', () => {
    expect(Object.keys(tally({ a: times(11, { r: 1 }), b: times(20, { r: 0 }) }))).toEqual(['2', '4', '5', '8', '10'])
    expect(tally({ a: times(1, { r: 1 }) })).toEqual({})
  })

  test('attempts without rewards did not pass; tasks weigh the same', () => {
    expect(tally({ a: [{ r: 1 }, null], b: [null, null, null] })).toEqual({ 2: 0.5 })
  })

  test.each([[{ reward: 0.5 }], [{ a: 1, b: 1 }], [{}]])('there is none once a trial has %o', (rewards) => {
    expect(tally({ a: [...times(4, { r: 1 }), rewards] })).toEqual({})
  })

  test('it is the share of all choices of k attempts that hold a pass', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.nat(8), fc.integer({ min: 1, max: 8 }), (total, passed, k) => {
        fc.pre(passed <= total && k <= total)
        expect(passAtK(total, passed, k)).toBeCloseTo(shareOfChoices(total, passed, k), 10)
        // All k pass exactly when the choice holds no failure.
        expect(passHatK(total, passed, k)).toBeCloseTo(1 - shareOfChoices(total, total - passed, k), 10)
      }),
    )
  })
})

function shareOfChoices(total: number, passed: number, k: number): number {
  const choices = Array.from({ length: 2 ** total }, (_, bits) => bits).filter(
    (bits) => [...bits.toString(2)].filter((b) => b === '1').length === k,
  )
  return choices.filter((bits) => (bits & (2 ** passed - 1)) !== 0).length / choices.length
}

describe('groups', () => {
  test('they are named after agent, model without provider, and dataset', () => {
    const { task, agent } = someRecord()
    expect(evalKeyOf({ task, agent })).toBe('oracle__tasks')
    expect(evalKeyOf({ task: { ...task, source: null }, agent: { ...agent, model: 'openai/gpt-x' } })).toBe(
      'oracle__gpt-x__adhoc',
    )
    expect(evalKeyOf({ task, agent: { ...agent, model: 'bare' } })).toBe('oracle__bare__tasks')
  })

  test('an infrastructure failure is seen and is no reward', () => {
    const liveStats = boardOf([
      scored('a', { reward: 1 }),
      scored('b', { reward: 0.5 }),
      scored('c', null),
      someRecord({ name: 'd', end: failed({ boundary: 'sandbox' }) }),
      someRecord({ name: 'e', end: failed({ boundary: 'model' }) }),
      someRecord({ name: 'f', end: failed({ boundary: 'sandbox' }) }),
      someRecord({ name: 'g', end: { kind: 'cancelled' } }),
      scored('h', { other: 0.5 }),
    ])
    const counted = {
      trials: 8,
      scored: 4,
      unverified: 1,
      noValidReply: 0,
      failed: 3,
      cancelled: 1,
      failedByBoundary: { sandbox: 2, model: 1 },
      meanOverScored: 2 / 3,
      meanOverAll: 0.25,
    }
    expect(liveStats.denominators()).toEqual(counted)
    expect(liveStats.groups().get('oracle__tasks')).toEqual(counted)
  })

  test('rewards and exceptions list the trials that had them', () => {
    const late = scored(
      'b',
      { reward: 1 },
      { end: { kind: 'scored', rewards: { reward: 1 }, exit: { kind: 'limit', limit: 'time' } } },
    )
    const stats = boardOf([scored('a', { reward: 1 }), late, someRecord({ name: 'c', end: failed() })]).stats({
      total: 9,
      running: 2,
      retries: 1,
    })
    expect(stats).toMatchObject({ completed: 3, errored: 2, running: 2, pending: 4, cancelled: 0, retries: 1 })
    const group = stats.evals.get('oracle__tasks')
    expect(group).toMatchObject({ trials: 2, errors: 2 })
    expect(group?.rewardStats).toEqual(new Map([['reward', new Map([[1, ['a', 'b']]])]]))
    expect(group?.exceptionStats).toEqual(
      new Map([
        ['AgentTimeoutError', ['b']],
        ['SandboxError', ['c']],
      ]),
    )
  })

  test('tokens add up, of steps too, and stay unknown when nobody counted', () => {
    const usage = { inputTokens: 10, cacheTokens: null, outputTokens: 1, costUsd: 0.5 }
    const step = {
      name: 's',
      rewards: null,
      exit: null,
      failure: null,
      usage,
      metadata: null,
      agentExecution: null,
      verifier: null,
    }
    const stats = boardOf([scored('a', { r: 1 }, { usage }), scored('b', { r: 1 }, { steps: [step, step] })]).stats({
      total: 2,
      running: 0,
      retries: 0,
    })
    expect(stats).toMatchObject({ inputTokens: 30, cacheTokens: null, outputTokens: 3, costUsd: 1.5 })
  })

  test('pass@k stays what it was until it is asked for again', () => {
    const liveStats = boardOf([scored('a', { r: 1 }), scored('b', { r: 0 })])
    const passes = (passAtK: boolean) =>
      liveStats.stats({ total: 3, running: 0, retries: 0, passAtK }).evals.get('oracle__tasks')?.passAtK.get(2)
    expect([passes(false), passes(true), passes(false)]).toEqual([undefined, 1, 1])
  })
})
