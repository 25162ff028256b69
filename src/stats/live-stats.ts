import type { Usage } from '../core/agent.ts'
import type { MetricConfig } from '../core/job.ts'
import type { Denominators, EvalStats, JobStats } from '../core/job-stats.ts'
import type { Rewards } from '../core/rewards.ts'
import { type TrialRecord, usageOf } from '../core/trial.ts'
import { exceptionOf } from '../core/trial-exception.ts'
import { evalKeyOf, makeEndTally, makeRewardTally, refuseUnknownMetrics } from './metrics.ts'
import { makePassTally } from './pass-at-k.ts'

export interface Progress {
  readonly total: number
  readonly running: number
  readonly retries: number
  /** Computes pass@k again; otherwise it keeps its last value, because computing it goes through all tasks. */
  readonly passAtK?: boolean
}

/** Running totals over a job's finished trials. Adding a trial costs the same however many there are. */
export interface LiveStats {
  add(record: TrialRecord): void
  /** As Harbor counts. The name lists inside keep growing. */
  stats(progress: Progress): JobStats
  /** As we count, for the whole job. */
  denominators(): Denominators
  /** The same, per group of `stats().evals`. */
  groups(): ReadonlyMap<string, Denominators>
}

/** Without configured metrics it computes the mean, as Harbor does. */
export function makeLiveStats(metrics: readonly MetricConfig[] = []): LiveStats {
  refuseUnknownMetrics(metrics)
  const wanted: readonly MetricConfig[] = metrics.length === 0 ? [{ type: 'mean', kwargs: {} }] : metrics
  const all = makeEndTally()
  const evals = new Map<string, ReturnType<typeof makeGroup>>()
  const usage = { inputTokens: null, cacheTokens: null, outputTokens: null, costUsd: null } as {
    -readonly [K in keyof Usage]: Usage[K]
  }
  let errored = 0
  return {
    add(record) {
      const key = evalKeyOf(record)
      const group = evals.get(key) ?? makeGroup(wanted)
      evals.set(key, group)
      if (group.add(record)) errored += 1
      all.add(record)
      const spent = usageOf(record)
      for (const name of ['inputTokens', 'cacheTokens', 'outputTokens', 'costUsd'] as const) {
        const more = spent?.[name] ?? null
        if (more !== null) usage[name] = (usage[name] ?? 0) + more
      }
    },
    stats({ total, running, retries, passAtK = false }) {
      const { trials: completed, cancelled } = all.read()
      const pending = Math.max(total - completed - running, 0)
      const groups = new Map([...evals].map(([key, group]) => [key, group.stats(passAtK)]))
      return { completed, errored, running, pending, cancelled, retries, evals: groups, ...usage }
    },
    denominators: () => all.read(),
    groups: () => new Map([...evals].sort(byKey).map(([key, group]) => [key, group.ends.read()])),
  }
}

/** Sorts by key, so the same job reads the same whichever trial ended first. */
function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

function makeGroup(metrics: readonly MetricConfig[]) {
  const ends = makeEndTally()
  const rewardTally = makeRewardTally()
  const passes = makePassTally()
  const rewardStats = new Map<string, Map<number, string[]>>()
  const exceptionStats = new Map<string, string[]>()
  let passAtK: ReadonlyMap<number, number> = new Map()
  let trials = 0
  let errors = 0
  return {
    ends,
    /** Returns true when the trial counts as errored. */
    add(record: TrialRecord): boolean {
      const rewards: Rewards | null = record.end.kind === 'scored' ? record.end.rewards : null
      ends.add(record)
      rewardTally.add(rewards)
      passes.add(record.task.name, rewards)
      if (rewards !== null) {
        trials += 1
        for (const [key, value] of Object.entries(rewards)) {
          append(
            child(rewardStats, key, () => new Map<number, string[]>()),
            value,
            record.name,
          )
        }
      }
      const exception = exceptionOf(record)
      if (exception === null) return false
      errors += 1
      append(exceptionStats, exception.type, record.name)
      return true
    },
    stats(recount: boolean): EvalStats {
      if (recount) passAtK = passes.compute()
      const computed = metrics.map((metric) => rewardTally.compute(metric))
      return { trials, errors, metrics: computed, passAtK, rewardStats, exceptionStats }
    },
  }
}

function append<K>(lists: Map<K, string[]>, key: K, name: string): void {
  child(lists, key, () => []).push(name)
}

function child<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key) ?? make()
  map.set(key, found)
  return found
}
