import type { AgentExit } from '../../core/agent.ts'
import { phases, type Span, type TrialRecord } from '../../core/trial.ts'
import type { ViewOutcome, ViewTrialRow } from '../../core/view.ts'
import { mainReward } from '../../stats/metrics.ts'

/** A finished trial in a list. `intern` gives one copy of texts that many trials share. */
export function viewRowOf(record: TrialRecord, intern: (text: string) => string = (text) => text): ViewTrialRow {
  const { end, usage } = record
  const parts = usage === null && record.steps !== null ? record.steps.map((step) => step.usage) : [usage]
  const sum = (key: 'inputTokens' | 'outputTokens' | 'costUsd') => {
    const known = parts.flatMap((part) => part?.[key] ?? [])
    return known.length === 0 ? null : known.reduce((total, value) => total + value, 0)
  }
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
    phaseSec: phases.map((phase) => phaseSeconds(record, phase)),
    inputTokens: sum('inputTokens'),
    outputTokens: sum('outputTokens'),
    costUsd: sum('costUsd'),
    retries: record.retries,
    tampered: [record, ...(record.steps ?? [])].some(({ system }) => (system?.restored.total ?? 0) > 0),
  }
}

/** A trial that has no record yet. Its name begins with that of its task. */
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

function phaseSeconds({ spans, steps }: TrialRecord, phase: (typeof phases)[number]): number | null {
  const ofSteps = spans[phase] === null && (phase === 'agentExecution' || phase === 'verifier')
  const all: (Span | null)[] = ofSteps ? (steps ?? []).map((step) => step[phase]) : [spans[phase]]
  const known = all.flatMap((span) => (span?.finishedAt ? [secondsBetween(span.startedAt, span.finishedAt)] : []))
  return known.length === 0 ? null : known.reduce((total, seconds) => total + seconds, 0)
}

function secondsBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1000
}
