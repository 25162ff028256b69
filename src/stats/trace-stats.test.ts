import { expect, test } from 'vitest'
import type { TraceFacts } from '../core/trace.ts'
import { makeTraceTally, outcomeOf, spreadOf } from './trace-stats.ts'

function facts(over: Partial<TraceFacts> = {}): TraceFacts {
  return {
    job: 'job',
    trial: 'a__1',
    task: 'a',
    agent: 'terminus-2',
    model: 'gpt-x',
    traceSource: 'main',
    result: '1.0',
    reward: 1,
    end: 'scored',
    exit: 'finished',
    boundary: null,
    turns: 3,
    inputTokens: 100,
    outputTokens: 10,
    costUsd: 0.5,
    systemEffect: null,
    promptDigest: 'p1',
    step: null,
    ...over,
  }
}

test('a trial with many rows counts once, by its longest main row', () => {
  const tally = makeTraceTally()
  tally.add(facts({ traceSource: null, turns: null }))
  tally.add(facts({ traceSource: 'summarization-1-summary', turns: 50 }))
  tally.add(facts({ turns: 1 }))
  tally.add(facts({ turns: 4 }))
  tally.add(facts({ turns: 2 }))
  const stats = tally.stats()
  expect(stats).toMatchObject({ traces: 4, trials: 1, withoutTrace: 0, turns: { count: 1, max: 4 } })
  expect(Object.fromEntries(stats.tracesBySource)).toEqual({ main: 3, 'summarization-1-summary': 1 })
})

test('a trial of several steps has the turns of all of them, and what any of them did to the system', () => {
  const tally = makeTraceTally()
  tally.add(facts({ traceSource: null, turns: null }))
  tally.add(facts({ step: 'one', turns: 2 }))
  tally.add(facts({ step: 'one', turns: 5 }))
  tally.add(facts({ step: 'one', traceSource: 'summarization-1-summary', turns: 50 }))
  tally.add(facts({ step: 'two', turns: 4, systemEffect: 'differ' }))
  tally.add(facts({ step: 'three', turns: 1, systemEffect: 'same' }))
  expect(tally.values('turns')).toEqual([10])
  expect(tally.values('inputTokens')).toEqual([100])
  expect(tally.stats()).toMatchObject({
    ...{ traces: 5, trials: 1, withoutTrace: 0, systemChanged: { trials: 1, differ: 1 } },
    tasks: [{ task: 'a', trials: 1, meanTurns: 10 }],
  })
})

test('trials of one name in two jobs are two trials', () => {
  const tally = makeTraceTally()
  tally.add(facts())
  tally.add(facts({ job: 'other' }))
  expect(tally.stats().trials).toBe(2)
})

test.each([
  [{}, 'solved'],
  [{ result: '0.0', reward: 0 }, 'not solved'],
  [{ result: '0.0', reward: 0, exit: 'turns' }, 'not solved, stopped by turns limit'],
  [{ result: 'AgentTimeoutError', exit: 'time' }, 'rewarded, stopped by time limit'],
  [{ result: 'NonZeroAgentExitCodeError', reward: 0, exit: 'exited' }, 'not solved, stopped by a bad exit'],
  [{ result: null, reward: null }, 'not verified'],
  [
    { result: 'ApiRateLimitError', reward: null, end: 'failed', boundary: 'model', exit: null },
    'failed: model: ApiRateLimitError',
  ],
  [{ result: 'CancelledError', reward: null, end: 'cancelled', exit: null }, 'cancelled'],
])('%o is %s', (over, outcome) => {
  expect(outcomeOf(facts(over))).toBe(outcome)
})

test('outcomes and results add up to the trials', () => {
  const tally = makeTraceTally()
  for (const [i, over] of [{}, { result: '0.0', reward: 0 }, { result: null, reward: null }].entries()) {
    tally.add(facts({ trial: `t${i}`, ...over }))
  }
  const { outcomes, results } = tally.stats()
  const sum = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((a, b) => a + b, 0)
  expect([sum(outcomes), sum(results)]).toEqual([3, 3])
})

test('tasks are told apart, and prompts that two of them share are named', () => {
  const tally = makeTraceTally()
  tally.add(facts({ trial: '1' }))
  tally.add(facts({ trial: '2', result: '0.0', reward: 0, turns: 5 }))
  tally.add(facts({ trial: '3', task: 'b' }))
  tally.add(facts({ trial: '4', task: 'c', promptDigest: 'p2' }))
  tally.add(
    facts({ trial: '5', task: 'c', promptDigest: null, turns: null, reward: null, result: null, traceSource: null }),
  )
  const { tasks, prompts } = tally.stats()
  expect(tasks).toEqual([
    { task: 'a', trials: 2, solved: 1, meanReward: 0.5, meanTurns: 4 },
    { task: 'b', trials: 1, solved: 1, meanReward: 1, meanTurns: 3 },
    { task: 'c', trials: 2, solved: 1, meanReward: 1, meanTurns: 3 },
  ])
  expect(prompts).toEqual({ distinct: 2, acrossTasks: [{ digest: 'p1', trials: 3, tasks: ['a', 'b'] }] })
})

test('a spread knows its ends and its middle', () => {
  expect(spreadOf([])).toBeNull()
  expect(spreadOf([3, 1, 2])).toEqual({ count: 3, sum: 6, mean: 2, min: 1, p10: 1, p50: 2, p90: 3, max: 3 })
})
