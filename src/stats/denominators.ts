import type { Boundary } from '../core/errors.ts'
import type { Denominators } from '../core/job-stats.ts'
import { hadNoValidReply } from '../core/model-replies.ts'
import type { Rewards } from '../core/rewards.ts'
import type { TrialRecord } from '../core/trial.ts'
import { makeSum } from './metrics.ts'

export interface EndTally {
  add(record: Pick<TrialRecord, 'end' | 'metadata' | 'steps'>): void
  read(): Denominators
}

/** Counts how trials end. Every trial counts, whatever became of it. */
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

/** The reward people mean when they speak of one: `reward`, else the first. */
export function mainReward(rewards: Rewards): number {
  if (Object.hasOwn(rewards, 'reward')) return rewards.reward ?? 0
  return Object.values(rewards)[0] ?? 0
}
