import type { AgentExit } from '../../core/agent.ts'
import { mainReward } from '../../core/rewards.ts'
import { phases, type TrialRecord } from '../../core/trial.ts'
import type { ViewOutcome, ViewTrialRow } from '../../core/view.ts'
import { secondsBetween, trialMeasures } from '../../stats/trial-measures.ts'

/** A finished trial in a list. `intern` deduplicates strings that many trials share. */
export function viewRowOf(record: TrialRecord, intern: (text: string) => string = (text) => text): ViewTrialRow {
  const { end } = record
  const measured = trialMeasures(record)
  const failure = end.kind === 'failed' ? end.failure : null
  return {
    name: record.name,
    task: intern(record.task.name),
    agent: intern(record.agent.name),
    model: record.agent.model === null ? null : intern(record.agent.model),
    attempt: record.attempt,
    outcome: outcomeOf(record),
    reward: end.kind === 'scored' && end.rewards ? mainReward(end.rewards) : null,
    stop: end.kind === 'scored' ? stopOf(end.exit) : null,
    boundary: failure?.boundary ?? null,
    code: failure === null ? null : intern(failure.code),
    startedAt: record.startedAt,
    seconds: secondsBetween(record.startedAt, record.finishedAt),
    phaseSec: phases.map((phase) => measured[phase] ?? null),
    inputTokens: measured.inputTokens ?? null,
    outputTokens: measured.outputTokens ?? null,
    costUsd: measured.costUsd ?? null,
    retries: record.retries,
    tampered: [record, ...(record.steps ?? [])].some(({ system }) => (system?.restored.total ?? 0) > 0),
  }
}

/** A trial without a record yet. Its name starts with its task's. */
export function runningRowOf(name: string, startedAt: string): ViewTrialRow {
  return {
    ...{ name, task: name.split('__')[0] ?? name, agent: '', model: null, attempt: 0, outcome: 'running' },
    ...{ reward: null, stop: null, boundary: null, code: null, startedAt, phaseSec: [null, null, null, null] },
    seconds: Math.max(0, secondsBetween(startedAt, new Date().toISOString())),
    ...{ inputTokens: null, outputTokens: null, costUsd: null, retries: 0, tampered: false },
  }
}

function outcomeOf({ end }: Pick<TrialRecord, 'end'>): ViewOutcome {
  if (end.kind !== 'scored') return end.kind
  if (end.rewards === null) return 'unverified'
  const reward = mainReward(end.rewards)
  if (reward >= 1) return 'solved'
  return reward > 0 ? 'partial' : 'unsolved'
}

function stopOf(exit: AgentExit): string | null {
  if (exit.kind === 'limit') return `${exit.limit} limit`
  return exit.kind === 'exited' ? `exit code ${exit.exitCode}` : null
}
