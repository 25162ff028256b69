import { type AgentConfig, type JobConfig, noTask, type TaskConfig, type TrialConfig } from '../../src/core/job.ts'
import type { Task } from '../../src/core/task.ts'

/** A job's settings with every default; each test changes what it is about. */
export function jobConfig(changes: Partial<JobConfig> = {}): JobConfig {
  return {
    jobName: 'test-job',
    jobsDir: 'jobs',
    nAttempts: 1,
    timeoutMultipliers: { all: 1, agent: null, verifier: null, agentSetup: null, environmentBuild: null },
    debug: false,
    nConcurrentTrials: 4,
    quiet: false,
    retry: { maxRetries: 0, include: null, exclude: [], waitMultiplier: 1, minWaitSec: 0, maxWaitSec: 60 },
    environment: {
      type: 'local',
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
      kwargs: {},
    },
    verifier: { overrideTimeoutSec: null, maxTimeoutSec: null, env: {}, disable: false, rewardPrecedence: 'txt' },
    metrics: [],
    agents: [agentConfig()],
    datasets: [],
    tasks: [],
    artifacts: [],
    ...changes,
  }
}

export function agentConfig(changes: Partial<AgentConfig> = {}): AgentConfig {
  return {
    name: 'oracle',
    importPath: null,
    modelName: null,
    overrideTimeoutSec: null,
    overrideSetupTimeoutSec: null,
    maxTimeoutSec: null,
    kwargs: {},
    env: {},
    ...changes,
  }
}

export function taskConfig(path: string): TaskConfig {
  return { ...noTask, path }
}

/** One trial's settings, derived from a job's. */
export function trialConfig(changes: Partial<TrialConfig> = {}, job = jobConfig()): TrialConfig {
  const { timeoutMultipliers, environment, verifier, artifacts } = job
  const agent = job.agents[0] ?? agentConfig()
  const trialName = 'task__abcdefg'
  const task = taskConfig('/tasks/task')
  return {
    task,
    trialName,
    trialsDir: '/jobs/job',
    timeoutMultipliers,
    agent,
    environment,
    verifier,
    artifacts,
    jobId: null,
    ...changes,
  }
}

/** A task that exists only in memory, for tests that never run it. */
export function taskNamed(name: string, content = 'c'.repeat(64)): Task {
  const environment = {
    dir: '/nowhere',
    buildTimeoutSec: 600,
    os: 'linux',
    gpus: 0,
    network: { mode: 'public' },
    mcpServers: [],
    env: {},
  } as const
  return {
    name,
    dir: `/nowhere/${name}`,
    schemaVersion: '1.2',
    description: '',
    authors: [],
    keywords: [],
    metadata: {},
    instruction: 'do it',
    environment,
    agent: {},
    verifier: { timeoutSec: 600, env: {}, mode: 'shared', collect: [] },
    solution: { env: {} },
    artifacts: [],
    steps: [],
    stepReward: 'mean',
    digests: { content, dirhash: content },
  }
}
