import { join } from 'node:path'
import type { Agent } from '../../core/agent.ts'
import type { TrialConfig } from '../../core/job.ts'
import type { Judge } from '../../core/judge.ts'
import type { ModelClient } from '../../core/model.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { AgentLimits, Artifact, Environment, Step, Task, VerifierLimits } from '../../core/task.ts'
import type { TrialEventName, TrialRecord } from '../../core/trial.ts'
import type { ExchangeFiles } from '../../store/exchange-files.ts'
import type { Resumption } from '../replay/resumption.ts'

/** The host's variables, which templates in tasks and jobs may reference. */
export type HostEnv = Readonly<Record<string, string | undefined>>

/**
 * Whether tests run again on the system files that the agent changed, even if they paid nothing on the image's files.
 */
export type SecondRun = 'always' | 'if-paid'

/** What every phase of one trial shares. */
export interface TrialContext {
  readonly task: Task
  readonly provider: SandboxProvider
  readonly config: TrialConfig
  readonly jobName: string
  /** The trial's directory on the host. */
  readonly dir: string
  readonly hostEnv: HostEnv
  readonly signal: AbortSignal
  readonly log: (line: string) => void
  readonly releaseSec: number
  readonly secondRun?: SecondRun | undefined
  /** For tasks judged by a model; absent when no judge was named. */
  readonly judge?: Judge | undefined
}

/** The context of a trial that runs an agent, with its model, its exchanges and the hooks to notify. */
export interface AgentTrial extends TrialContext {
  readonly agent: Agent
  readonly client: ModelClient | null
  /** A recording of an interrupted attempt, to be replayed. */
  readonly resumption?: Resumption | undefined
  /** Where the agent's calls are recorded. */
  readonly exchanges: ExchangeFiles
  /** Masks the trial's secrets in a text about to be written. */
  readonly mask: (text: string) => string
  /** Notifies the hooks, one after the other. */
  readonly announce: (event: TrialEventName, record?: TrialRecord) => Promise<void>
}

/** One round of solving and verifying: a whole single-step task, or one step of a multi-step one. */
export interface Round {
  readonly step: Step | null
  readonly instruction: string
  readonly agent: AgentLimits
  readonly verifier: VerifierLimits
  readonly artifacts: readonly Artifact[]
  /** The host directory whose `agent/`, `verifier/` and `artifacts/` this round fills. */
  readonly dir: string
}

/** The host directory for the agent's files of a round. */
export function agentDirOf({ dir }: Round): string {
  return join(dir, 'agent')
}

/** The only round of a single-step task. */
export function wholeTask(context: TrialContext): Round {
  const { task, dir } = context
  const { instruction, agent, verifier } = task
  return { step: null, instruction, agent, verifier, artifacts: declaredArtifacts(context, []), dir }
}

/** One step as a round: whatever the step leaves open comes from the task, except the time limit of its tests. */
export function roundOfStep(context: TrialContext, step: Step, dir: string): Round {
  const { task } = context
  return {
    step,
    instruction: step.instruction,
    agent: { ...task.agent, ...step.agent },
    verifier: { ...task.verifier, ...step.verifier, env: { ...task.verifier.env, ...step.verifier.env } },
    artifacts: declaredArtifacts(context, step.artifacts),
    dir,
  }
}

/** The artifacts of task, step and job, in that order. */
function declaredArtifacts(context: TrialContext, ofStep: readonly Artifact[]): readonly Artifact[] {
  const ofJob = context.config.artifacts.map((item) =>
    typeof item === 'string' ? { source: item, exclude: [] } : item,
  )
  return [...context.task.artifacts, ...ofStep, ...ofJob]
}

/** Seconds an agent gets to prepare its sandbox, unless the job says otherwise. */
const agentSetupSec = 360

/** How many seconds a sandbox may take to start once its image is built. */
export function environmentStartLimitSec(environment: Environment, config: TrialConfig): number {
  const { environmentBuild, all } = config.timeoutMultipliers
  return environment.buildTimeoutSec * (environmentBuild ?? all)
}

/** How many seconds an agent's `prepare` may take. */
export function agentSetupLimitSec(config: TrialConfig): number {
  const { agentSetup, all } = config.timeoutMultipliers
  return (config.agent.overrideSetupTimeoutSec || agentSetupSec) * (agentSetup ?? all)
}

/** How many seconds an agent's `solve` may take; null for no limit. */
export function agentLimitSec(limits: AgentLimits, config: TrialConfig): number | null {
  const { agent, all } = config.timeoutMultipliers
  return stretch(config.agent.overrideTimeoutSec || limits.timeoutSec, config.agent.maxTimeoutSec, agent ?? all)
}

/** How many seconds one run of the tests may take; null for no limit. */
export function verifierLimitSec(limits: VerifierLimits, config: TrialConfig): number | null {
  const { verifier, all } = config.timeoutMultipliers
  return stretch(
    config.verifier.overrideTimeoutSec || limits.timeoutSec,
    config.verifier.maxTimeoutSec,
    verifier ?? all,
  )
}

/** The cap applies before the factor, as in Harbor; a cap of 0 means no cap. */
function stretch(baseSec: number | undefined, maxSec: number | null, factor: number): number | null {
  const sec = Math.min(baseSec ?? Number.POSITIVE_INFINITY, maxSec || Number.POSITIVE_INFINITY)
  return Number.isFinite(sec) ? sec * factor : null
}
