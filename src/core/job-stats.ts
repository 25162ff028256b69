import type { Boundary } from './errors.ts'

/** The trials of a job with one agent, model and dataset, counted the way Harbor counts them. */
export interface EvalStats {
  /** Trials with rewards. */
  readonly trials: number
  /** Trials with an exception; a trial that also has rewards counts in both. */
  readonly errors: number
  /** One entry per metric: its name or the names of the rewards, and the value. A missing reward counts as 0. */
  readonly metrics: readonly ReadonlyMap<string, number>[]
  readonly passAtK: ReadonlyMap<number, number>
  /** Reward name, value, names of trials. */
  readonly rewardStats: ReadonlyMap<string, ReadonlyMap<number, readonly string[]>>
  /** Exception name, names of trials. */
  readonly exceptionStats: ReadonlyMap<string, readonly string[]>
}

/** Where a job stands. */
export interface JobStats {
  readonly completed: number
  readonly errored: number
  readonly running: number
  readonly pending: number
  readonly cancelled: number
  readonly retries: number
  /** Key `agent__model__dataset`, or `agent__dataset` without a model. */
  readonly evals: ReadonlyMap<string, EvalStats>
  readonly inputTokens: number | null
  readonly cacheTokens: number | null
  readonly outputTokens: number | null
  readonly costUsd: number | null
}

/** The result of a job so far. Times are UTC with microseconds. */
export interface JobResult {
  readonly id: string
  readonly startedAt: string
  readonly updatedAt: string | null
  /** Null while the job is not finished. */
  readonly finishedAt: string | null
  readonly totalTrials: number
  readonly stats: JobStats
}

/** What became of every trial: infrastructure failures stay visible and never pass for a reward of 0. */
export interface Denominators {
  readonly trials: number
  readonly scored: number
  /** Scored trials without rewards, because verification was switched off. */
  readonly unverified: number
  /** Scored trials whose agent never received a valid reply, so it never attempted the task. */
  readonly noValidReply: number
  readonly failed: number
  readonly failedByBoundary: Readonly<Partial<Record<Boundary, number>>>
  readonly cancelled: number
  /** Mean reward of the trials that have one; null when none has. */
  readonly meanOverScored: number | null
  /** Mean over all trials, counting those without a reward as 0; null when there are none. */
  readonly meanOverAll: number | null
}
