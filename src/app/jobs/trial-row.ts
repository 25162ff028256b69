import type { AgentExit } from '../../core/agent.ts'
import type { SystemReport, TrialRecord } from '../../core/trial.ts'
import { describeSystem } from '../../run/trial/two-systems.ts'

/** What `jobs show` says about one trial, for machines. */
export interface TrialRow {
  readonly name: string
  readonly task: string
  readonly agent: string
  readonly model: string | null
  readonly attempt: number
  readonly end: TrialRecord['end']['kind']
  readonly rewards: Readonly<Record<string, number>> | null
  readonly exit: AgentExit | null
  readonly boundary: string | null
  readonly code: string | null
  readonly message: string | null
  readonly durationSec: number
  readonly retries: number
  readonly isolation: string | null
  /** What the agent changed in the system its tests run in, step by step; empty if nothing. */
  readonly system: readonly SystemReport[]
  readonly notes: readonly string[]
}

export function trialRowOf(record: TrialRecord): TrialRow {
  const { end } = record
  const failure = end.kind === 'failed' ? end.failure : null
  return {
    name: record.name,
    task: record.task.name,
    agent: record.agent.name,
    model: record.agent.model,
    attempt: record.attempt,
    end: end.kind,
    rewards: end.kind === 'scored' ? end.rewards : null,
    exit: end.kind === 'scored' ? end.exit : null,
    boundary: failure?.boundary ?? null,
    code: failure?.code ?? null,
    message: failure?.message ?? null,
    durationSec: (Date.parse(record.finishedAt) - Date.parse(record.startedAt)) / 1000,
    retries: record.retries,
    isolation: record.isolation,
    system: systemsOf(record),
    notes: notesOf(record),
  }
}

/** What a reader of the score should know. */
export function notesOf(record: TrialRecord): readonly string[] {
  const notes = systemsOf(record).map(describeSystem)
  if (record.bothRewardFiles) {
    const { rewardPrecedence } = record.config.verifier
    notes.unshift(`the tests wrote both reward.txt and reward.json; reward.${rewardPrecedence} was used`)
  }
  notes.push(...(record.sandbox?.notes ?? []))
  return notes
}

function systemsOf(record: TrialRecord): SystemReport[] {
  if (record.steps === null) return record.system ? [record.system] : []
  return [record, ...record.steps].flatMap(({ system }) => (system ? [system] : []))
}

/** Describes an ending briefly: `scored`, `scored (time limit)`, `failed`. */
export function describeEnd(row: TrialRow): string {
  if (row.end !== 'scored') return row.end
  const word = row.rewards === null ? 'not verified' : 'scored'
  if (row.exit?.kind === 'limit') return `${word} (${row.exit.limit} limit)`
  return row.exit?.kind === 'exited' ? `${word} (agent exit ${row.exit.exitCode})` : word
}

/** Formats rewards for one cell: just the number if there is only one. */
export function describeRewards(rewards: TrialRow['rewards']): string {
  const entries = Object.entries(rewards ?? {})
  if (entries.length === 1) return String(entries[0]?.[1])
  return entries.map(([key, value]) => `${key} ${value}`).join(', ') || '-'
}
