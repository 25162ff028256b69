import { expect, test } from 'vitest'
import { someRecord } from '../../test/records.ts'
import type { StepRecord } from '../core/trial.ts'
import { trialMeasures } from './trial-measures.ts'

const usage = { inputTokens: 10, cacheTokens: 1, outputTokens: 2, costUsd: 0.25 }
const metadata = { n_episodes: 3 }
const step: StepRecord = {
  ...{ name: 'one', rewards: null, exit: null, failure: null, usage, metadata },
  ...{ agentExecution: null, verifier: null },
}

test('a trial of several steps has the turns and tokens of all of them', () => {
  const steps = [step, { ...step, name: 'two', metadata: { n_episodes: 4 } }, { ...step, name: 'three', usage: null }]
  const whole = { turns: 10, inputTokens: 20, outputTokens: 4, costUsd: 0.5 }
  expect(trialMeasures(someRecord({ steps }))).toMatchObject(whole)
  // In Harbor's files the tokens are already added up, but the turns are not.
  const added = { inputTokens: 20, cacheTokens: 2, outputTokens: 4, costUsd: 0.5 }
  expect(trialMeasures(someRecord({ steps, usage: added }))).toMatchObject(whole)
})

test('a trial of one step has its own, and what was not counted is left out', () => {
  expect(trialMeasures(someRecord({ usage: { ...usage, costUsd: null }, metadata }))).toMatchObject({
    turns: 3,
    inputTokens: 10,
  })
  expect(Object.keys(trialMeasures(someRecord({ usage: { ...usage, costUsd: null } })))).not.toContain('costUsd')
  expect(Object.keys(trialMeasures(someRecord()))).not.toContain('turns')
})
