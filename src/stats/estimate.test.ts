import { expect, test } from 'vitest'
import { someRecord } from '../../test/records.ts'
import { assumeConversation, assumeFromRecords, estimateJob, usualConversation } from './estimate.ts'

const facts = {
  contextTokens: null,
  outputTokens: null,
  inputUsdPerToken: 1e-6,
  cacheUsdPerToken: 1e-7,
  outputUsdPerToken: 2e-6,
}
const shape = { turns: 3, firstPromptTokens: 100, observationTokens: 20, replyTokens: 10, secPerTurn: 5 }

test('a conversation sends all that was said before at every turn', () => {
  expect(assumeConversation(shape)).toMatchObject({
    // 100, then 100 + 30, then 100 + 60.
    inputTokens: 390,
    // 100 of the second turn, 130 of the third.
    cacheTokens: 230,
    outputTokens: 30,
    sec: 15,
  })
})

test('trials, prices and how many run at once make tokens, cost and hours', () => {
  const estimate = estimateJob(10, 4, facts, assumeConversation(shape))
  expect(estimate).toMatchObject({ trials: 10, inputTokens: 3900, cacheTokens: 2300, outputTokens: 300 })
  expect(estimate.costUsd).toBeCloseTo(1600e-6 + 230e-6 + 600e-6)
  expect(estimate.hours).toBeCloseTo((3 * 15) / 3600)
  expect(estimate.assumptions.join('\n')).toMatch(
    /3 turns[\s\S]*4 trials at a time[\s\S]*input 1 USD, output 2 USD, cached 0.1 USD/,
  )
})

test('an unknown price is no price, and an unknown discount saves nothing', () => {
  const each = assumeConversation(usualConversation)
  expect(estimateJob(1, 1, { ...facts, outputUsdPerToken: null }, each).costUsd).toBeNull()
  expect(estimateJob(1, 1, null, each).costUsd).toBeNull()
  const full = estimateJob(1, 1, { ...facts, cacheUsdPerToken: null }, each)
  expect(full.costUsd).toBeCloseTo(full.inputTokens * 1e-6 + full.outputTokens * 2e-6)
})

test('nothing to run takes nothing', () => {
  expect(estimateJob(0, 8, facts, assumeConversation(shape))).toMatchObject({ inputTokens: 0, costUsd: 0, hours: 0 })
})

test('earlier trials that told their usage are averaged, others are passed over', () => {
  const usage = (inputTokens: number) => ({ inputTokens, cacheTokens: 10, outputTokens: 5, costUsd: null })
  const base = someRecord()
  const times = { startedAt: '2026-01-01T00:00:00.000000Z', finishedAt: '2026-01-01T00:01:00.000000Z' }
  const records = [
    { ...base, ...times, usage: usage(100), metadata: { n_episodes: 4 } },
    { ...base, ...times, usage: usage(300), metadata: { n_episodes: 6 } },
    { ...base, ...times, usage: null },
  ]
  expect(assumeFromRecords(records)).toEqual({
    turns: 5,
    inputTokens: 200,
    cacheTokens: 10,
    outputTokens: 5,
    sec: 60,
    source: 'averages of 2 earlier trials that reported their usage',
  })
  expect(assumeFromRecords([{ ...base, usage: null }])).toBeNull()
})
