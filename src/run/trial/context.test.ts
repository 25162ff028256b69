import { expect, test } from 'vitest'
import { agentConfig, jobConfig, taskNamed, trialConfig } from '../../../test/fakes/configs.ts'
import type { AgentConfig, TimeoutMultipliers, VerifierConfig } from '../../core/job.ts'
import { agentLimitSec, agentSetupLimitSec, environmentStartLimitSec, verifierLimitSec } from './context.ts'

const { environment, verifier } = taskNamed('t')

test('an agent without a limit in task or job has none', () => {
  expect(agentLimitSec({}, config({}))).toBeNull()
})

test('the cap comes before the factor', () => {
  const capped = config({ overrideTimeoutSec: 900, maxTimeoutSec: 100 }, { all: 3 })
  expect(agentLimitSec({ timeoutSec: 50 }, capped)).toBe(300)
})

test('a cap alone limits an agent that had no limit', () => {
  expect(agentLimitSec({}, config({ maxTimeoutSec: 20 }))).toBe(20)
})

test('an override of 0 falls through to the task', () => {
  expect(agentLimitSec({ timeoutSec: 50 }, config({ overrideTimeoutSec: 0 }))).toBe(50)
  expect(verifierLimitSec(verifier, config({}, {}, { overrideTimeoutSec: 0 }))).toBe(600)
})

test("a phase's own factor wins over the general one, also when it is smaller", () => {
  const factors = { all: 10, agent: 2, verifier: 0.5, agentSetup: 3, environmentBuild: 4 }
  expect(agentLimitSec({ timeoutSec: 50 }, config({}, factors))).toBe(100)
  expect(verifierLimitSec(verifier, config({}, factors))).toBe(300)
  expect(agentSetupLimitSec(config({}, factors))).toBe(1080)
  expect(environmentStartLimitSec(environment, config({}, factors))).toBe(2400)
})

test('setup takes 360 seconds unless overridden', () => {
  expect(agentSetupLimitSec(config({}))).toBe(360)
  expect(agentSetupLimitSec(config({ overrideSetupTimeoutSec: 7 }))).toBe(7)
})

function config(
  agent: Partial<AgentConfig>,
  factors: Partial<TimeoutMultipliers> = {},
  verifier: Partial<VerifierConfig> = {},
) {
  const job = jobConfig()
  return trialConfig({
    agent: agentConfig(agent),
    timeoutMultipliers: { ...job.timeoutMultipliers, ...factors },
    verifier: { ...job.verifier, ...verifier },
  })
}
