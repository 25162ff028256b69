import type { ReplayedRow } from './perform-replay.ts'

/** The overall result of replaying some rows. */
export interface ReplaySummary {
  readonly counts: { readonly rows: number; readonly holds: number; readonly diverged: number; readonly cannot: number }
  /** One line for each agent whose version or prompts differ from the recorded ones. */
  readonly versions: readonly string[]
  readonly rewards: { readonly compared: number; readonly same: number }
  /** No model was called. */
  readonly usage: { readonly tokens: 0; readonly costUsd: 0 }
}

/** Counts verdicts, and adds what a reader should know. */
export function summarize(rows: readonly ReplayedRow[]): ReplaySummary {
  const count = (kind: ReplayedRow['verdict']['kind']) => rows.filter(({ verdict }) => verdict.kind === kind).length
  const versions = new Set(
    rows.flatMap(({ versions: both, otherPrompts }) => [
      ...(both ? [`recorded with version ${both.recorded} of the agent, replayed with ${both.replayed}`] : []),
      ...(otherPrompts ? ['recorded with different prompts than the agent has now'] : []),
    ]),
  )
  const rewards = rows.flatMap(({ reward }) => reward ?? [])
  return {
    counts: {
      rows: rows.length,
      holds: count('holds'),
      diverged: count('diverged'),
      cannot: count('cannot-be-replayed'),
    },
    versions: [...versions].sort(),
    rewards: {
      compared: rewards.length,
      same: rewards.filter(({ recorded, replayed }) => recorded === replayed).length,
    },
    usage: { tokens: 0, costUsd: 0 },
  }
}
