import type { BudgetLimits } from '../../core/budget.ts'
import type { TimeoutMultipliers } from '../../core/job.ts'
import type { Judge } from '../../core/judge.ts'
import type { RewardPrecedence } from '../../core/rewards.ts'
import type { ModelSettings, PlugInChoice } from '../../core/stage.ts'
import { isModulePath } from '../../plugins/user-modules/import-path.ts'
import type { Layout } from '../../store/job-dir.ts'
import type { PrefetchOptions } from './prefetch-settings.ts'

type Maybe<T> = { readonly [K in keyof T]?: T[K] | undefined }

/** What to run: tasks times agents times attempts. Everything has a default. */
export type TasksRequest = Maybe<WhatToRun & HowToRun & ThisRun>

interface WhatToRun {
  /** A task, or a folder of tasks (default: those of the job file). */
  tasks: string
  /** The same, or a dataset by name: that of a benchmark, or hf:org/name, harbor:name@version or git:URL#path. */
  dataset: string
  /** A registry.json of Harbor's in which `dataset` is looked up: a file, or an address. */
  registryPath: string
  registryUrl: string
  /** The git repository in which `tasks` is the path of a task. */
  git: { readonly url: string; readonly commit?: string | undefined }
  /** Globs of task names to keep, and to leave out. */
  include: readonly string[]
  exclude: readonly string[]
  /** At most this many tasks, after the filters. */
  limit: number
  /** Every n-th task, starting with `index`: for several processes that share the work. */
  share: { readonly index: number; readonly of: number }
  /** An agent by its name, its file or its package (default: oracle; terminus-2 where a model server is named). */
  agent: string | PlugInChoice
  /** Options and variables for every agent, also those of a job file. */
  agentOptions: Readonly<Record<string, unknown>>
  agentEnv: Readonly<Record<string, string>>
  agentTimeoutSec: number
  /** One agent runs for each model. */
  model: string | ModelSettings | RequestedModel
  /** An engine file that says where the model is. */
  engineConfig: string
  /** A Harbor job file; everything else in the request wins over it. */
  jobFile: string
  /** Keys of the job file and their values, for example `agents[0].kwargs.x`; they win over everything else. */
  set: readonly (readonly [path: string, value: unknown])[]
}

interface HowToRun {
  /** A kind of sandbox by its name, its file or its package (default: local). */
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
  /** Attempts of each task (default: 1). */
  attempts: number
  /** Trials at once (default: 4). */
  concurrency: number
  retry: Maybe<{ max: number; include: readonly string[]; exclude: readonly string[] }>
  /** Where jobs are kept (default: jobs), and the name of this one (default: the time). */
  jobsDir: string
  jobName: string
  quiet: boolean
  debug: boolean
}

/** Settings of this run that are no part of what the job is. */
interface ThisRun {
  /** Fetches tasks that are not on this machine. */
  fetch: boolean
  /** How trials are kept (default: as they are, and as trial directories in a new job). */
  layout: Layout
  budget: Maybe<BudgetLimits>
  /** Requests and tokens per minute to each server. */
  rpm: number
  tpm: number
  /** Lets the number of trials at once follow what the server can take. */
  adaptive: boolean | Maybe<{ min: number; max: number; intervalSec: number }>
  /** Where the model is in this run; a job may resume with a model that is served somewhere else. */
  address: Pick<ModelSettings, 'apiBase' | 'apiKeyEnv'>
  /** The model that scores tasks which ask for a judge. */
  judge: ModelSettings | Judge
  prefetch: PrefetchOptions
  /** Variables of this machine that tasks may have. */
  passEnv: readonly string[]
  /** Tasks may have every variable they ask for. */
  passAllEnv: boolean
  /** Runs interrupted trials from the start instead of replaying what they recorded. */
  restartInterrupted: boolean
  /** Also resumes a job whose trials have all ended, instead of running them again. */
  resumeFinished: boolean
  /** Runs trials of a resumed job again that have no score, because of an infrastructure failure or because they were cancelled. */
  retryUnscored: boolean
}

/** News for a person while something runs. */
export type Notify = (line: string) => void

/** Several models that are served in one place; an engine file may name the model when `names` is empty. */
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

/** A plug-in that a request names: the name of one of ours, or where a user's module is. */
export function requestedPlugin(choice: string | PlugInChoice) {
  const { name, options = {} } = typeof choice === 'string' ? { name: choice } : choice
  const isPath = isModulePath(name)
  return { name: isPath ? null : name, importPath: isPath ? name : null, options }
}
