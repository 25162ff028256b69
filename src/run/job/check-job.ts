import type { Agent } from '../../core/agent.ts'
import type { AgentConfig, JobConfig } from '../../core/job.ts'
import { fewNeeds, type SandboxProvider } from '../../core/sandbox.ts'
import { readMachineLimits } from '../../lib/machine-limits.ts'
import { refuseUnknownMetrics } from '../../stats/metrics.ts'
import type { HostEnv } from '../trial/context.ts'
import { networksOf } from '../trial/environment.ts'
import { requireRoom } from './fit-machine.ts'
import { type JobTask, requireHostVars } from './plan.ts'

export interface JobToCheck {
  readonly config: JobConfig
  readonly tasks: readonly JobTask[]
  readonly provider: SandboxProvider
  readonly makeAgent: (config: AgentConfig) => Promise<Agent>
  readonly hostEnv: HostEnv
}

/** Finds whatever would make every trial fail, before anything is written or started. Throws UserError. */
export async function checkJob({ config, tasks, provider, makeAgent, hostEnv }: JobToCheck): Promise<void> {
  refuseUnknownMetrics(config.metrics)
  requireHostVars(config, tasks, hostEnv)
  for (const agent of await Promise.all(config.agents.map(makeAgent))) {
    for (const { task } of tasks) agent.check?.(task)
  }
  const trials = tasks.length * config.agents.length * config.nAttempts
  const atOnce = Math.min(config.nConcurrentTrials, trials)
  if (atOnce > 0) requireRoom(atOnce, provider.needs ?? fewNeeds, readMachineLimits())
  await provider.preflight({ networks: networksOf(tasks.map(({ task }) => task)) })
}
