import type { Agent } from '../../core/agent.ts'
import { UserError } from '../../core/errors.ts'
import type { AgentConfig, JobConfig } from '../../core/job.ts'
import { fewNeeds, type SandboxNeeds, type SandboxProvider } from '../../core/sandbox.ts'
import type { Resource } from '../../lib/exhaustion.ts'
import { type MachineLimit, readMachineLimits } from '../../lib/machine-limits.ts'
import { refuseUnknownMetrics } from '../../stats/metrics.ts'
import type { HostEnv } from '../trial/context.ts'
import { networksOf } from '../trial/environment.ts'
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

/** What a job takes beside its trials: its own files and sockets, what it builds, programs that run for a moment. */
const ofJob: Readonly<Partial<Record<Resource, number>>> = { 'file descriptors': 30, processes: 30 }

/** Throws a UserError when the trials that are to run at once need more than this machine lets us have. */
export function requireRoom(atOnce: number, needs: SandboxNeeds, limits: readonly MachineLimit[]): void {
  const perTrial: Partial<Record<Resource, number>> = {
    'file descriptors': needs.descriptors,
    processes: needs.processes,
  }
  for (const { resource, name, limit, free } of limits) {
    const each = perTrial[resource] ?? 0
    const rest = ofJob[resource] ?? 0
    const needed = each === 0 ? 0 : rest + each * atOnce
    if (needed <= free) continue
    const fits = Math.floor((free - rest) / each)
    throw new UserError(
      `${atOnce} trials at once need about ${needed} ${resource}, but ${name} is ${limit} and leaves ${Math.max(0, free)}`,
      fits > 0 ? `run at most ${fits} at once (-n ${fits}), or raise ${name}` : `raise ${name}`,
      3,
    )
  }
}
