import type { Environment, Step, Task, VerifierLimits } from '../../core/task.ts'

/** An environment as task.toml describes it, before anyone knows where its files are. */
export type EnvironmentSettings = Omit<Environment, 'dir'>

export interface VerifierSettings extends Omit<VerifierLimits, 'environment'> {
  /** Only what the task itself says; a separate verifier without one gets a copy of the task's environment. */
  readonly environment?: EnvironmentSettings
}

export interface StepSettings extends Omit<Step, 'dir' | 'instruction' | 'verifier'> {
  readonly verifier: VerifierSettings
}

type Elsewhere = 'name' | 'dir' | 'instruction' | 'environment' | 'verifier' | 'steps' | 'digests'

/** Everything task.toml says, in our words and with every default filled in. */
export interface TaskSettings extends Omit<Task, Elsewhere> {
  /** `[task].name`; without it the task goes by its directory's name. */
  readonly name?: string
  readonly environment: EnvironmentSettings
  readonly verifier: VerifierSettings
  readonly steps: readonly StepSettings[]
}

/** What a new task starts from: the defaults of the newest schema we write. */
export const defaultSettings: TaskSettings = {
  schemaVersion: '1.4',
  description: '',
  authors: [],
  keywords: [],
  metadata: {},
  environment: {
    buildTimeoutSec: 600,
    os: 'linux',
    gpus: 0,
    network: { mode: 'public' },
    mcpServers: [],
    env: {},
  },
  agent: {},
  verifier: { timeoutSec: 600, env: {}, mode: 'shared', collect: [] },
  solution: { env: {} },
  artifacts: [],
  steps: [],
  stepReward: 'mean',
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** The same object without the keys whose value is undefined. */
export function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Defined<T>
}
