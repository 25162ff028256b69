import { type Phase, phases, type Span, type TrialRecord, usageOf } from '../core/trial.ts'

/** What is measured of each trial besides its reward. */
export const measures = ['turns', 'inputTokens', 'outputTokens', 'costUsd'] as const
export type TrialMeasure = (typeof measures)[number]

/** The known numbers of a trial: turns, tokens, cost, and the seconds of each phase. */
export function trialMeasures(record: TrialRecord): Readonly<Partial<Record<TrialMeasure | Phase, number>>> {
  const usage = usageOf(record)
  // In a multi-step trial, turns are counted step by step.
  const parts = record.metadata?.n_episodes === undefined ? (record.steps ?? []) : [record]
  const values: [TrialMeasure | Phase, number | null][] = [
    ['turns', sumOf(parts.map(({ metadata }) => metadata?.n_episodes))],
    ['inputTokens', sumOf([usage?.inputTokens])],
    ['outputTokens', sumOf([usage?.outputTokens])],
    ['costUsd', sumOf([usage?.costUsd])],
    ...phases.map((phase): [Phase, number | null] => [phase, sumOf(phaseSeconds(record, phase))]),
  ]
  return Object.fromEntries(values.filter(([, value]) => value !== null))
}

/** Null when none of them is a number. */
function sumOf(values: readonly unknown[]): number | null {
  const known = values.filter((value): value is number => typeof value === 'number' && Number.isFinite(value))
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0)
}

function phaseSeconds({ spans, steps }: TrialRecord, phase: Phase): (number | null)[] {
  if (spans[phase] === null && (phase === 'agentExecution' || phase === 'verifier'))
    return (steps ?? []).map((step) => secondsOf(step[phase]))
  return [secondsOf(spans[phase])]
}

function secondsOf(span: Span | null): number | null {
  if (span === null || span.finishedAt === null) return null
  return secondsBetween(span.startedAt, span.finishedAt)
}

/** Seconds from one ISO time to another. */
export function secondsBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1000
}
