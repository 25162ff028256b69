import type { Boundary } from '../core/errors.ts'
import { UserError } from '../core/errors.ts'
import type { MetricConfig } from '../core/job.ts'
import type { Denominators } from '../core/job-stats.ts'
import { hadNoValidReply } from '../core/model-replies.ts'
import { mainReward, type Rewards } from '../core/rewards.ts'
import type { TrialRecord } from '../core/trial.ts'

/** Sums up the rewards of trials so that any metric is known after each trial. */
export interface RewardTally {
  /** Null for a trial without rewards. */
  add(rewards: Rewards | null): void
  compute(metric: MetricConfig): ReadonlyMap<string, number>
}

/** Refuses metrics that only Harbor's Python can compute, before anything runs. */
export function refuseUnknownMetrics(metrics: readonly MetricConfig[]): void {
  for (const [i, { type, kwargs }] of metrics.entries()) {
    if (type === 'uv-script') {
      throw new UserError(
        `metrics[${i}]: uv-script needs Python and uv, which ot-agent does not run`,
        'use mean, sum, min or max, or run the script on the rewards afterwards',
      )
    }
    const [option] = Object.keys(kwargs)
    if (option !== undefined)
      throw new UserError(`metrics[${i}]: ${type} takes no kwargs, got ${option}`, 'remove the kwargs')
  }
}

interface KeyTally {
  readonly sum: ReturnType<typeof makeSum>
  present: number
  min: number
  max: number
}

/** A trial without a reward counts as 0, and so does each reward that a trial lacks. */
export function makeRewardTally(): RewardTally {
  const keys = new Map<string, KeyTally>()
  let trials = 0
  const value = (type: MetricConfig['type'], tally: KeyTally | undefined): number => {
    const sum = tally?.sum.value() ?? 0
    const whole = tally?.present === trials
    if (type === 'min') return whole ? (tally?.min ?? 0) : Math.min(tally?.min ?? 0, 0)
    if (type === 'max') return whole ? (tally?.max ?? 0) : Math.max(tally?.max ?? 0, 0)
    return type === 'sum' ? sum : sum / trials
  }
  return {
    add(rewards) {
      trials += 1
      for (const [key, reward] of Object.entries(rewards ?? {})) tallyReward(keys, key, reward)
    },
    compute({ type }) {
      if (trials === 0) return new Map()
      if (keys.size <= 1) return new Map([[type, value(type, [...keys.values()][0])]])
      return new Map([...keys.keys()].sort(byCodePoint).map((key) => [key, value(type, keys.get(key))]))
    },
  }
}

function tallyReward(keys: Map<string, KeyTally>, key: string, reward: number): void {
  const tally = keys.get(key) ?? { sum: makeSum(), present: 0, min: reward, max: reward }
  keys.set(key, tally)
  tally.sum.add(reward)
  tally.present += 1
  tally.min = Math.min(tally.min, reward)
  tally.max = Math.max(tally.max, reward)
}

/** Python's string order, which differs from JavaScript's beyond the basic plane. */
function byCodePoint(a: string, b: string): number {
  const [left, right] = [[...a], [...b]]
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = (left[i]?.codePointAt(0) ?? 0) - (right[i]?.codePointAt(0) ?? 0)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

/** A running sum that does not lose small numbers among large ones: the algorithm of Python's `sum` since 3.12. */
function makeSum(): { add(value: number): void; value(): number } {
  let sum = 0
  let lost = 0
  return {
    add(value) {
      const next = sum + value
      lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum
      sum = next
    },
    value: () => (Number.isFinite(lost) ? sum + lost : sum),
  }
}

/**
 * Names the group that a trial counts in: `agent__model__dataset`, or `agent__dataset`. A model's provider is left out,
 * as in Harbor.
 */
export function evalKeyOf({ agent, task }: Pick<TrialRecord, 'agent' | 'task'>): string {
  const model = agent.model === null ? '' : agent.model.slice(agent.model.indexOf('/') + 1)
  const ofAgent = agent.name === '' || model === '' ? agent.name + model : `${agent.name}__${model}`
  return ofAgent === '' ? task.source || 'adhoc' : `${ofAgent}__${task.source || 'adhoc'}`
}

export interface EndTally {
  add(record: Pick<TrialRecord, 'end' | 'metadata' | 'steps'>): void
  read(): Denominators
}

/** Counts how trials end. Every trial is counted, whatever became of it. */
export function makeEndTally(): EndTally {
  const sum = makeSum()
  const failedByBoundary = new Map<Boundary, number>()
  const counts = { trials: 0, scored: 0, unverified: 0, noValidReply: 0, failed: 0, cancelled: 0 }
  return {
    add(record) {
      const { end } = record
      counts.trials += 1
      counts[end.kind] += 1
      if (end.kind === 'failed') {
        const { boundary } = end.failure
        failedByBoundary.set(boundary, (failedByBoundary.get(boundary) ?? 0) + 1)
      }
      if (end.kind !== 'scored') return
      if (hadNoValidReply(record)) counts.noValidReply += 1
      if (end.rewards === null) counts.unverified += 1
      else sum.add(mainReward(end.rewards))
    },
    read() {
      const verified = counts.scored - counts.unverified
      return {
        ...counts,
        failedByBoundary: Object.fromEntries(failedByBoundary),
        meanOverScored: verified === 0 ? null : sum.value() / verified,
        meanOverAll: counts.trials === 0 ? null : sum.value() / counts.trials,
      }
    },
  }
}
