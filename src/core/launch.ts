import type { Cluster } from './cluster.ts'

/** What a launch can be for. */
export const jobTypes = ['datagen', 'recipe', 'sft', 'sft_mca', 'pretokenize', 'consolidate', 'rl', 'eval'] as const
export type JobType = (typeof jobTypes)[number]

/** What one job requests from a cluster. */
export interface JobResources {
  readonly nodes: number
  readonly gpusPerNode: number
  /** Processors on each node; null leaves it to the cluster. */
  readonly cpusPerNode: number | null
  readonly memoryGb: number | null
  readonly timeLimit: string
}

/** `ok`: the other job succeeded. `started`: it has begun to run. */
export interface JobDependency {
  readonly job: string
  readonly when: 'ok' | 'started'
}

/** Script lines that belong together, and what they are for. */
export interface ScriptPiece {
  readonly about: string
  readonly lines: readonly string[]
}

/** One entry of a launch: a script that a scheduler runs once, or once for each task of an array. */
export interface LaunchJob {
  /** Names it within its launch: `server`, `tasks`, `traces`. */
  readonly name: string
  /** What the scheduler calls it; at most 96 characters. */
  readonly jobName: string
  readonly summary: string
  /**
   * `internet`: on nodes with internet. `login`: on the machine that submits jobs, before it submits any. Null: on any
   * node.
   */
  readonly place: 'internet' | 'login' | null
  readonly resources: JobResources
  readonly after: readonly JobDependency[]
  readonly array: { readonly size: number; readonly throttle: number } | null
  /** How often it may be submitted again, each time only if the previous run did not finish. */
  readonly restarts: number
  /** How many seconds before its time limit the job is told to stop. */
  readonly stopSec: number
  readonly script: readonly ScriptPiece[]
}

/** One launch of work on a cluster: everything known about it before it is submitted. */
export interface Launch {
  readonly id: string
  readonly jobType: JobType
  readonly cluster: Cluster
  /** Absolute. */
  readonly experimentsDir: string
  readonly jobs: readonly LaunchJob[]
  /** Files that jobs read, by their path below `experimentsDir`. */
  readonly files: Readonly<Record<string, string>>
  /** A dependency of every job that has none, in the scheduler's own words. */
  readonly dependency: string | null
}

/** The longest name a job may have. */
export const maxJobName = 96

/** One copy of a job as submitted to a scheduler. */
export interface Submission {
  readonly job: string
  /** 0 is the first; later ones run only if the previous one did not finish. */
  readonly link: number
  /** The scheduler's own name for it. */
  readonly id: string
  /** The tasks of an array that were submitted; null for all, or for a job that is no array. */
  readonly tasks: readonly number[] | null
}

export type JobState = 'waiting' | 'running' | 'done' | 'failed' | 'cancelled' | 'resumable' | 'unknown'

/** What a scheduler says about a submission, or about one task of its array. */
export interface ScheduledState {
  readonly id: string
  /** Null for a job that is no array. */
  readonly task: number | null
  readonly state: JobState
  /** In the scheduler's words: why it waits, or how it ended. */
  readonly reason: string
}

/** A job, or part of one, for a scheduler to submit. */
export interface SubmissionRequest {
  readonly job: LaunchJob
  readonly launch: Launch
  readonly link: number
  readonly scriptPath: string
  readonly tasks: readonly number[] | null
  /** Everything submitted earlier in this launch. */
  readonly earlier: readonly Submission[]
}

/** Assigns jobs to machines. Rendering touches nothing. */
export interface Scheduler {
  readonly name: string
  render(job: LaunchJob, launch: Launch): string
  /** The command that would run, for a person to read; earlier jobs appear by name, not by id. */
  describe(request: Omit<SubmissionRequest, 'earlier'>): readonly string[]
  submit(request: SubmissionRequest): Promise<string>
  /** The states of all of them, in one query; what the scheduler has forgotten is left out. */
  states(submissions: readonly Submission[]): Promise<readonly ScheduledState[]>
  cancel(submissions: readonly Submission[]): Promise<void>
}
