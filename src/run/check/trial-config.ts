import { noTask, type TrialConfig } from '../../core/job.ts'
import type { Task } from '../../core/task.ts'

/** What a check asks of one trial: everything as the task says, with no overrides. */
export interface CheckTrial {
  readonly agentName: string
  /** Default: none. */
  readonly model?: string | undefined
  readonly trialName: string
  readonly trialsDir: string
  readonly sandbox: string
  readonly sandboxOptions: Readonly<Record<string, unknown>>
}

export function checkTrialConfig(task: Task | null, trial: CheckTrial): TrialConfig {
  return {
    task: { ...noTask, path: task?.dir ?? null },
    trialName: trial.trialName,
    trialsDir: trial.trialsDir,
    timeoutMultipliers: { all: 1, agent: null, verifier: null, agentSetup: null, environmentBuild: null },
    agent: { ...noAgentConfig, name: trial.agentName, modelName: trial.model ?? null },
    environment: { ...noEnvironmentConfig, type: trial.sandbox, kwargs: trial.sandboxOptions },
    verifier: { overrideTimeoutSec: null, maxTimeoutSec: null, env: {}, disable: false, rewardPrecedence: 'txt' },
    artifacts: [],
    jobId: null,
  }
}

const noAgentConfig = {
  importPath: null,
  modelName: null,
  overrideTimeoutSec: null,
  overrideSetupTimeoutSec: null,
  maxTimeoutSec: null,
  kwargs: {},
  env: {},
}

/** A kind of sandbox without any settings. */
export const noEnvironmentConfig = {
  importPath: null,
  forceBuild: false,
  delete: true,
  overrideCpus: null,
  overrideMemoryMb: null,
  overrideStorageMb: null,
  overrideGpus: null,
  suppressOverrideWarnings: false,
  mountsJson: null,
  env: {},
}
