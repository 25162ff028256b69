import type { RewardPrecedence } from './rewards.ts'
import type { Artifact } from './task.ts'

/** Multipliers for deadlines; a phase's own factor overrides the general one. */
export interface TimeoutMultipliers {
  readonly all: number
  readonly agent: number | null
  readonly verifier: number | null
  readonly agentSetup: number | null
  readonly environmentBuild: number | null
}

export interface AgentConfig {
  readonly name: string | null
  readonly importPath: string | null
  readonly modelName: string | null
  readonly overrideTimeoutSec: number | null
  readonly overrideSetupTimeoutSec: number | null
  readonly maxTimeoutSec: number | null
  readonly kwargs: Readonly<Record<string, unknown>>
  /** May hold `${VAR}` templates; resolved only when the agent starts, redacted whenever written. */
  readonly env: Readonly<Record<string, string>>
}

export interface EnvironmentConfig {
  readonly type: string | null
  readonly importPath: string | null
  readonly forceBuild: boolean
  readonly delete: boolean
  readonly overrideCpus: number | null
  readonly overrideMemoryMb: number | null
  readonly overrideStorageMb: number | null
  readonly overrideGpus: number | null
  readonly suppressOverrideWarnings: boolean
  readonly mountsJson: readonly unknown[] | null
  readonly env: Readonly<Record<string, string>>
  readonly kwargs: Readonly<Record<string, unknown>>
}

export interface VerifierConfig {
  readonly overrideTimeoutSec: number | null
  readonly maxTimeoutSec: number | null
  readonly env: Readonly<Record<string, string>>
  readonly disable: boolean
  /** Not a Harbor key: set by `--reward-precedence`. */
  readonly rewardPrecedence: RewardPrecedence
  /**
   * Not a Harbor key either: agents may change system files in every task, and tests run on the result. Absent unless
   * requested.
   */
  readonly agentMayModifySystem?: true
}

export interface RetryConfig {
  readonly maxRetries: number
  /** Null means every code. */
  readonly include: readonly string[] | null
  readonly exclude: readonly string[]
  readonly waitMultiplier: number
  readonly minWaitSec: number
  readonly maxWaitSec: number
}

/** Where a job's tasks come from: one task directory, or a directory of them. */
export interface TaskConfig {
  readonly path: string | null
  readonly gitUrl: string | null
  readonly gitCommitId: string | null
  readonly name: string | null
  readonly ref: string | null
  readonly overwrite: boolean
  readonly downloadDir: string | null
  readonly source: string | null
}

/** A task config with nothing set. */
export const noTask: TaskConfig = {
  path: null,
  gitUrl: null,
  gitCommitId: null,
  name: null,
  ref: null,
  overwrite: false,
  downloadDir: null,
  source: null,
}

export interface DatasetConfig {
  readonly path: string | null
  readonly name: string | null
  readonly version: string | null
  readonly ref: string | null
  readonly registryUrl: string | null
  readonly registryPath: string | null
  readonly overwrite: boolean
  readonly downloadDir: string | null
  readonly taskNames: readonly string[] | null
  readonly excludeTaskNames: readonly string[] | null
  readonly nTasks: number | null
}

export interface MetricConfig {
  readonly type: 'sum' | 'min' | 'max' | 'mean' | 'uv-script'
  readonly kwargs: Readonly<Record<string, unknown>>
}

/** Everything a job was asked to do, with every default filled in. */
export interface JobConfig {
  readonly jobName: string
  readonly jobsDir: string
  readonly nAttempts: number
  readonly timeoutMultipliers: TimeoutMultipliers
  readonly debug: boolean
  readonly nConcurrentTrials: number
  readonly quiet: boolean
  readonly retry: RetryConfig
  readonly environment: EnvironmentConfig
  readonly verifier: VerifierConfig
  readonly metrics: readonly MetricConfig[]
  readonly agents: readonly AgentConfig[]
  readonly datasets: readonly DatasetConfig[]
  readonly tasks: readonly TaskConfig[]
  readonly artifacts: readonly (string | Artifact)[]
}

/** Everything one trial was asked to do. */
export interface TrialConfig {
  readonly task: TaskConfig
  readonly trialName: string
  readonly trialsDir: string
  readonly timeoutMultipliers: TimeoutMultipliers
  readonly agent: AgentConfig
  readonly environment: EnvironmentConfig
  readonly verifier: VerifierConfig
  readonly artifacts: readonly (string | Artifact)[]
  readonly jobId: string | null
}
