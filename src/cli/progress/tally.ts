import type { JobStart } from '../../app/job/perform-job.ts'
import type { Boundary } from '../../core/errors.ts'

/** A job's progress, for people. */
export interface Standing {
  readonly done: number
  readonly total: number
  /** Running trials and their start times, longest running first. */
  readonly running: readonly { readonly name: string; readonly sinceMs: number }[]
  readonly retries: number
  readonly meanReward: number | null
  readonly failedByBoundary: Readonly<Partial<Record<Boundary, number>>>
  readonly cancelled: number
  readonly tokens: number | null
  readonly costUsd: number | null
  /** Estimated seconds until the end at the current rate; null while unknown. */
  readonly etaSec: number | null
}

/** Adds to a job's statistics what is only known while it runs: which trials are running, and how fast they finish. */
export interface Tally {
  started(name: string): void
  retried(name: string): void
  ended(name: string): void
  standing(): Standing
}

export function makeTally(
  total: number,
  liveStats: JobStart['liveStats'],
  nowMs: () => number = () => performance.now(),
): Tally {
  const running = new Map<string, number>()
  const startedMs = nowMs()
  let ended = 0
  let retries = 0
  return {
    started: (name) => void running.set(name, nowMs()),
    retried: (name) => {
      running.delete(name)
      retries++
    },
    ended: (name) => {
      running.delete(name)
      ended++
    },
    standing: () => {
      const { trials: done, meanOverScored, failedByBoundary, cancelled } = liveStats.denominators()
      const { inputTokens, outputTokens, costUsd } = liveStats.stats({ total, running: running.size, retries })
      const secPerTrial = ended === 0 ? null : (nowMs() - startedMs) / 1000 / ended
      return {
        done,
        total,
        running: [...running].map(([name, sinceMs]) => ({ name, sinceMs })),
        retries,
        meanReward: meanOverScored,
        failedByBoundary,
        cancelled,
        tokens: inputTokens === null && outputTokens === null ? null : (inputTokens ?? 0) + (outputTokens ?? 0),
        costUsd,
        etaSec: secPerTrial === null ? null : secPerTrial * Math.max(total - done, 0),
      }
    },
  }
}
