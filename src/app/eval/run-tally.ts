import type { Denominators } from '../../core/job-stats.ts'
import { mainReward } from '../../core/rewards.ts'
import { type Phase, phases, type TrialRecord } from '../../core/trial.ts'
import { type Interval, mean, meanInterval } from '../../stats/interval.ts'
import { type MetricMean, makeMetricTally, pushTo } from '../../stats/metric-means.ts'
import { type EndTally, makeEndTally } from '../../stats/metrics.ts'
import { passAtK, passHatK } from '../../stats/pass-at-k.ts'
import { type Spread, spreadOf } from '../../stats/trace-stats.ts'
import { measures, type TrialMeasure, trialMeasures } from '../../stats/trial-measures.ts'

export { measures } from '../../stats/trial-measures.ts'

/** The chance of passing in `k` attempts, over the tasks with at least that many scored attempts. */
export interface PassRate {
  readonly k: number
  /** At least one of k attempts passes. */
  readonly any: number
  /** All of k attempts pass. */
  readonly all: number
  readonly tasks: number
}

export interface TaskScore {
  readonly task: string
  readonly checksum: string
  readonly trials: number
  /** Rewards in the order in which their trials ended. */
  readonly rewards: readonly number[]
  /** Null if no trial has a reward. */
  readonly mean: number | null
}

export interface FailureCount {
  readonly boundary: string
  readonly code: string
  readonly trials: number
}

/** The numbers of one agent with one model on one dataset. */
export interface RunNumbers {
  readonly agent: string
  readonly model: string | null
  readonly dataset: string | null
  /** The mean reward over tasks, from scored trials; null if there are none. */
  readonly accuracy: Interval | null
  /** The same over all trials, with each trial without a reward counted as 0: a lower bound. */
  readonly accuracyOverAll: number | null
  /** Empty unless all rewards are 0 or 1. */
  readonly passes: readonly PassRate[]
  /** The mean of every verifier metric, over the tasks that have it. */
  readonly metrics: readonly MetricMean[]
  readonly trials: Denominators
  readonly failures: readonly FailureCount[]
  /** Why agents stopped, as counts of scored trials. */
  readonly stops: Readonly<Record<string, number>>
  readonly spreads: Readonly<Record<TrialMeasure, Spread | null>>
  /** Seconds of each phase. */
  readonly phaseSec: Readonly<Record<Phase, Spread | null>>
  readonly tasks: readonly TaskScore[]
}

interface TaskTally {
  readonly checksum: string
  trials: number
  readonly rewards: number[]
}

/** Adds up the trials of one agent, model and dataset. */
export class RunTally {
  private readonly tasks = new Map<string, TaskTally>()
  private readonly ends: EndTally = makeEndTally()
  private readonly metrics = makeMetricTally()
  private readonly failures = new Map<string, FailureCount>()
  private readonly stops = new Map<string, number>()
  private readonly values = new Map<string, number[]>()

  constructor(private readonly first: Pick<TrialRecord, 'agent' | 'task'>) {}

  add(record: TrialRecord): void {
    const { end, task } = record
    this.ends.add(record)
    for (const [name, value] of Object.entries(trialMeasures(record))) pushTo(this.values, name, value)
    const tally = this.tasks.get(task.name) ?? { checksum: task.checksum, trials: 0, rewards: [] }
    this.tasks.set(task.name, tally)
    tally.trials++
    if (end.kind === 'failed') this.countFailure(end.failure)
    if (end.kind !== 'scored') return
    const stop = end.exit.kind === 'limit' ? `${end.exit.limit} limit` : end.exit.kind
    this.stops.set(stop, (this.stops.get(stop) ?? 0) + 1)
    if (end.rewards === null) return
    tally.rewards.push(mainReward(end.rewards))
    this.metrics.add(task.name, end.rewards)
  }

  read(): RunNumbers {
    const { agent, task } = this.first
    const tasks = [...this.tasks]
      .map(([name, { checksum, trials, rewards }]) => ({
        ...{ task: name, checksum, trials, rewards },
        mean: rewards.length === 0 ? null : mean(rewards),
      }))
      .sort((a, b) => (a.task < b.task ? -1 : 1))
    return {
      agent: agent.name,
      model: agent.model,
      dataset: task.source,
      accuracy: meanInterval(new Map(tasks.map((each) => [each.task, each.rewards]))),
      accuracyOverAll: overAll(tasks),
      passes: passesOf(tasks),
      metrics: this.metrics.means(),
      trials: this.ends.read(),
      failures: [...this.failures.values()].sort((a, b) => b.trials - a.trials),
      stops: Object.fromEntries([...this.stops].sort(([, a], [, b]) => b - a)),
      spreads: spreads(measures, this.values),
      phaseSec: spreads(phases, this.values),
      tasks,
    }
  }

  private countFailure({ boundary, code }: { boundary: string; code: string }): void {
    const key = `${boundary}\0${code}`
    this.failures.set(key, { boundary, code, trials: (this.failures.get(key)?.trials ?? 0) + 1 })
  }
}

function spreads<K extends string>(names: readonly K[], values: ReadonlyMap<string, number[]>) {
  return Object.fromEntries(names.map((name) => [name, spreadOf(values.get(name) ?? [])])) as Record<K, Spread | null>
}

function overAll(tasks: readonly TaskScore[]): number | null {
  if (tasks.length === 0) return null
  return mean(tasks.map(({ rewards, trials }) => rewards.reduce((sum, reward) => sum + reward, 0) / trials))
}

function passesOf(tasks: readonly TaskScore[]): PassRate[] {
  if (tasks.some(({ rewards }) => rewards.some((reward) => reward !== 0 && reward !== 1))) return []
  const most = tasks.reduce((highest, { rewards }) => Math.max(highest, rewards.length), 0)
  return Array.from({ length: most }, (_, i) => i + 1).map((k) => {
    const tried = tasks.flatMap(({ rewards }) =>
      rewards.length < k ? [] : [[rewards.length, rewards.filter((reward) => reward === 1).length] as const],
    )
    return {
      k,
      any: mean(tried.map(([total, passed]) => passAtK(total, passed, k))),
      all: mean(tried.map(([total, passed]) => passHatK(total, passed, k))),
      tasks: tried.length,
    }
  })
}
