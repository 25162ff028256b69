import type { TrialRecord } from '../../core/trial.ts'
import { renderCount } from '../../lib/show-numbers.ts'

/** What became of the trials of a run that had been interrupted before. */
export interface ResumedSums {
  /** Trials whose recorded replies were replayed. */
  readonly replayed: number
  /** Trials that started over because a request was not the recorded one. */
  readonly diverged: number
  /** Trials that started over because their replies could not be used. */
  readonly notReplayed: number
  /** Replies that were not asked for again, and what they had cost. */
  readonly turns: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costUsd: number
}

/** Counts trials that were interrupted before, as they end. */
export function makeResumedTally(): { add(record: TrialRecord): void; sums(): ResumedSums | null } {
  const sums = { replayed: 0, diverged: 0, notReplayed: 0, turns: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 }
  return {
    add({ resumed }) {
      if (resumed?.kind === 'diverged') sums.diverged++
      if (resumed?.kind === 'not-replayed') sums.notReplayed++
      if (resumed?.kind !== 'replayed') return
      sums.replayed++
      sums.turns += resumed.turns
      sums.inputTokens += resumed.inputTokens
      sums.outputTokens += resumed.outputTokens
      sums.costUsd += resumed.costUsd ?? 0
    },
    sums: () => (sums.replayed + sums.diverged + sums.notReplayed > 0 ? { ...sums } : null),
  }
}

/** The same in words, for people. */
export function renderResumed({ replayed, diverged, notReplayed, ...saved }: ResumedSums): string {
  const cost = saved.costUsd > 0 ? `, $${saved.costUsd.toFixed(2)}` : ''
  const tokens = `${renderCount(saved.inputTokens)} in, ${renderCount(saved.outputTokens)} out${cost}`
  const parts = [
    replayed > 0 ? `${replayed} resumed by replay, ${saved.turns} replies not asked for again (${tokens})` : '',
    diverged > 0 ? `${diverged} started over because the replay diverged` : '',
    notReplayed > 0 ? `${notReplayed} started over without a replay` : '',
  ]
  return `interrupted trials: ${parts.filter(Boolean).join('; ')}`
}
