import type { BudgetLimits } from '../../core/budget.ts'
import type { TimeoutMultipliers } from '../../core/job.ts'
import type { Judge } from '../../core/judge.ts'
import type { RewardPrecedence } from '../../core/rewards.ts'
import type { ModelSettings, PlugInChoice } from '../../core/stage.ts'
import { isModulePath } from '../../plugins/user-modules/import-path.ts'
import type { Layout } from '../../store/job-dir.ts'
import type { PrefetchOptions } from './prefetch-settings.ts'

type Maybe<T> = { readonly [K in keyof T]?: T[K] | undefined }

/** What to run: tasks x agents x attempts. Everything has a default. */
export type TasksRequest = Maybe<WhatToRun & HowToRun & ThisRun>

interface WhatToRun {
  /** A task, or a folder of tasks (default: those in the job file). */
  tasks: string
  /** The same, or a named dataset: a benchmark, hf:org/name, harbor:name@version or git:URL#path. */
  dataset: string
  /** A Harbor registry.json in which to look up `dataset`: a file or URL. */
  registryPath: string
  registryUrl: string
  /** The git repository in which `tasks` is a task's path. */
  git: { readonly url: string; readonly commit?: string | undefined }
  /** Globs of task names to include and exclude. */
  include: readonly string[]
  exclude: readonly string[]
  /** At most this many tasks, after the filters. */
  limit: number
  /** Every n-th task, starting with `index`, so that several processes can share the work. */
  share: { readonly index: number; readonly of: number }
  /** An agent by name, file or package (default: oracle, or terminus-2 if a model is named). */
  agent: string | PlugInChoice
  /** Options and variables for every agent, including those in a job file. */
  agentOptions: Readonly<Record<string, unknown>>
  agentEnv: Readonly<Record<string, string>>
  agentTimeoutSec: number
  /** One agent runs for each model. */
  model: string | ModelSettings | RequestedModel
  /** An engine file that says where the model is. */
  engineConfig: string
  /** A Harbor job file; everything else in the request overrides it. */
  jobFile: string
  /** Job file keys and values, for example `agents[0].kwargs.x`; they override everything else. */
  set: readonly (readonly [path: string, value: unknown])[]
}

interface HowToRun {
  /** A kind of sandbox by name, file or package (default: local). */
  sandbox: string | PlugInChoice
  sandboxOptions: Readonly<Record<string, unknown>>
  resources: Maybe<{ cpus: number; memoryMb: number; storageMb: number; gpus: number }>
  forceBuild: boolean
  verifier: Maybe<{
    env: Readonly<Record<string, string>>
    disable: boolean
    timeoutSec: number
    rewardPrecedence: RewardPrecedence
    agentMayModifySystem: boolean
  }>
  /** Paths inside the sandbox to keep. */
  artifacts: readonly string[]
  timeoutMultipliers: Maybe<TimeoutMultipliers>
  /** Attempts per task (default: 1). */
  attempts: number
  /** Concurrent trials (default: 4). */
  concurrency: number
  /** `defaultMax` (0) applies where neither `max` nor the job file names a number. */
  retry: Maybe<{ max: number; defaultMax: number; include: readonly string[]; exclude: readonly string[] }>
  /** Where jobs are stored (default: jobs), and this job's name (default: the time). */
  jobsDir: string
  jobName: string
  quiet: boolean
  debug: boolean
}

/** Settings of this run that are not part of the job. */
interface ThisRun {
  /** Fetches tasks missing on this machine. */
  fetch: boolean
  /** How trials are stored (default: unchanged, or trial directories in a new job). */
  layout: Layout
  budget: Maybe<BudgetLimits>
  /** Requests and tokens per minute for each server. */
  rpm: number
  tpm: number
  /** Adapts the number of concurrent trials to what the server can handle. */
  adaptive: boolean | Maybe<{ min: number; max: number; intervalSec: number }>
  /** Where the model is in this run; a job may resume with a model served elsewhere. */
  address: Pick<ModelSettings, 'apiBase' | 'apiKeyEnv'>
  /** The model that scores tasks that need a judge. */
  judge: ModelSettings | Judge
  prefetch: PrefetchOptions
  /** Variables of this machine that tasks may use. */
  passEnv: readonly string[]
  /** Tasks may use every variable they ask for. */
  passAllEnv: boolean
  /** Runs interrupted trials from the start instead of replaying their recording. */
  restartInterrupted: boolean
  /** Also resumes a finished job instead of running it again. */
  resumeFinished: boolean
  /** Reruns trials of a resumed job that have no score, because of an infrastructure failure or cancellation. */
  retryUnscored: boolean
}

/** Reports a notice to the user while something runs. */
export type Notify = (line: string) => void

/** Several models served in one place; if `names` is empty, an engine file may name the model. */
export interface RequestedModel extends Omit<ModelSettings, 'model'> {
  readonly names: readonly string[]
}

export function requestedModel({ model }: TasksRequest): RequestedModel {
  if (model === undefined) return { names: [] }
  if (typeof model === 'string') return { names: [model] }
  if ('names' in model) return model
  const { model: name, ...rest } = model
  return { names: [name], ...rest }
}

/** Resolves a plug-in in a request: a built-in name, or the location of a user's module. */
export function requestedPlugin(choice: string | PlugInChoice) {
  const { name, options = {} } = typeof choice === 'string' ? { name: choice } : choice
  const isPath = isModulePath(name)
  return { name: isPath ? null : name, importPath: isPath ? name : null, options }
}
