import type { TrialConfig } from '../../core/job.ts'
import type { AgentLimits, Environment, VerifierLimits } from '../../core/task.ts'

/** Seconds an agent gets to make its sandbox ready, unless the job says otherwise. */
const agentSetupSec = 360

/** How long a sandbox may take to start, its image built. */
export function environmentStartLimitSec(environment: Environment, config: TrialConfig): number {
  const { environmentBuild, all } = config.timeoutMultipliers
  return environment.buildTimeoutSec * (environmentBuild ?? all)
}

/** How long `prepare` of an agent may take. */
export function agentSetupLimitSec(config: TrialConfig): number {
  const { agentSetup, all } = config.timeoutMultipliers
  return (config.agent.overrideSetupTimeoutSec || agentSetupSec) * (agentSetup ?? all)
}

/** How long `solve` of an agent may take; null when nothing limits it. */
export function agentLimitSec(limits: AgentLimits, config: TrialConfig): number | null {
  const { agent, all } = config.timeoutMultipliers
  return stretch(config.agent.overrideTimeoutSec || limits.timeoutSec, config.agent.maxTimeoutSec, agent ?? all)
}

/** How long one run of the tests may take; null when nothing limits it. */
export function verifierLimitSec(limits: VerifierLimits, config: TrialConfig): number | null {
  const { verifier, all } = config.timeoutMultipliers
  return stretch(
    config.verifier.overrideTimeoutSec || limits.timeoutSec,
    config.verifier.maxTimeoutSec,
    verifier ?? all,
  )
}

/** The cap comes before the factor, as in Harbor; a cap of 0 is no cap. */
function stretch(baseSec: number | undefined, maxSec: number | null, factor: number): number | null {
  const sec = Math.min(baseSec ?? Number.POSITIVE_INFINITY, maxSec || Number.POSITIVE_INFINITY)
  return Number.isFinite(sec) ? sec * factor : null
}
