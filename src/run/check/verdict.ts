import type { Rewards } from '../../core/rewards.ts'
import { mayModifySystemKey, type Step } from '../../core/task.ts'
import type { Failure, TrialRecord } from '../../core/trial.ts'
import type { Finding } from './finding.ts'

/** What must hold, in the order in which it is checked. */
export const checkNames = [
  'lint',
  'start',
  'oracle',
  'repeat',
  'nop',
  'reference',
  'stated',
  'shallow',
  'forger',
  'opinion',
] as const
export type CheckName = (typeof checkNames)[number]

/**
 * `unknown`: an infrastructure failure prevented an answer. `skipped`: an earlier check, or the user, made it
 * unnecessary.
 */
export type Outcome = 'ok' | 'fail' | 'unknown' | 'skipped'

export interface Check {
  readonly name: CheckName
  readonly outcome: Outcome
  readonly reasons: readonly string[]
  /** The part of the task, or of its output, that shows why. */
  readonly evidence?: readonly string[] | undefined
}

/** Rejected as soon as one check fails; unknown when none fails but at least one could not be decided. */
export type Verdict = 'accepted' | 'rejected' | 'unknown'

export function judge(checks: readonly Check[]): Verdict {
  if (checks.some(({ outcome }) => outcome === 'fail')) return 'rejected'
  return checks.some(({ outcome }) => outcome === 'unknown') ? 'unknown' : 'accepted'
}

/** Errors of the lints reject, warnings do not. */
export function judgeLints(findings: readonly Finding[]): Check {
  const reasons = findings.filter(({ severity }) => severity === 'error').map(describeFinding)
  return { name: 'lint', outcome: reasons.length > 0 ? 'fail' : 'ok', reasons }
}

export function describeFinding({ lint, path, message }: Finding): string {
  return `${lint}: ${path === '' ? '' : `${path} `}${message}`
}

/** Whether the environment started, according to the first trial. */
export function judgeStart(record: TrialRecord): Check {
  if (record.sandbox !== null) return ok('start')
  const { end } = record
  return end.kind === 'failed'
    ? judgeFailedStart(end.failure)
    : { name: 'start', outcome: 'unknown', reasons: [end.kind] }
}

/** Decides whether a failed start counts against the task or says nothing about it. */
export function judgeFailedStart(failure: Failure): Check {
  return blamed('start', failure)
}

/** The oracle must get the full reward in every step. */
export function judgeOracle(records: readonly TrialRecord[], steps: readonly Step[]): Check {
  return worst('oracle', records, (record) => {
    const { end } = record
    if (end.kind !== 'scored') return null
    const missed = steps.length - (record.steps?.length ?? steps.length)
    if (missed > 0)
      return `stopped before the last ${missed} of ${steps.length} steps, scored ${describeRewards(end.rewards)}`
    const why = end.exit.kind === 'limit' && end.exit.limit === 'time' ? ' (the solution ran out of time)' : ''
    return isFull(end.rewards) ? null : `scored ${describeRewards(end.rewards)}, expected 1${why}${systemHint(record)}`
  })
}

/** If the oracle legitimately changes the system, the task must declare that this is allowed. */
function systemHint({ system, steps }: TrialRecord): string {
  const report = [system, ...(steps ?? []).map((step) => step.system)].find((it) => it?.differ)
  if (!report) return ''
  const files = report.restored.files.slice(0, 5).map(({ path }) => path)
  return `; the solution changes system files (${files.join(', ')}) and scores ${describeRewards(report.onImage)} without them: if agents may do that too, set ${mayModifySystemKey} = true under [metadata] in task.toml`
}

/** If runs of the oracle differ, the verifier or the task is not deterministic. */
export function judgeRepeats(records: readonly TrialRecord[]): Check {
  if (records.length < 2) return { name: 'repeat', outcome: 'skipped', reasons: [] }
  const endings = records.map(({ end }) => {
    if (end.kind === 'scored') return describeRewards(end.rewards)
    return end.kind === 'failed' && isTasksFault(end.failure) ? `no score (${end.failure.code})` : null
  })
  const known = endings.filter((ending) => ending !== null)
  if (new Set(known).size > 1) {
    const reason = `${known.length} runs of the oracle disagree: ${known.join(', ')}`
    return { name: 'repeat', outcome: 'fail', reasons: [reason] }
  }
  if (known.length === records.length) return ok('repeat')
  const reason = `${records.length - known.length} of ${records.length} runs of the oracle did not finish`
  return { name: 'repeat', outcome: 'unknown', reasons: [reason] }
}

/**
 * Doing nothing must score less than the full reward, but it must score: tests still have to report that nothing was
 * done.
 */
export function judgeNop(record: TrialRecord): Check {
  return worst('nop', [record], ({ end }) =>
    end.kind === 'scored' && !isBelow(end.rewards) ? `doing nothing scores ${describeRewards(end.rewards)}` : null,
  )
}

/** Forging must not pay. Tests that fail because of a forgery pay nothing, which is fine. */
export function judgeForger(records: readonly TrialRecord[]): Check {
  const paidOrLost = records.filter(({ end }) => end.kind !== 'failed' || end.failure.boundary !== 'verifier')
  return worst('forger', paidOrLost, ({ end, isolation }) => {
    if (end.kind !== 'scored' || isBelow(end.rewards)) return null
    return `a forged reward was accepted: scored ${describeRewards(end.rewards)} without solving anything (verifier isolation: ${isolation ?? 'unknown'})`
  })
}

/** `reward` is 1 or, where no reward has that name, every one is at least 1. */
export function isFull(rewards: Rewards | null): boolean {
  if (rewards === null) return false
  if (Object.hasOwn(rewards, 'reward')) return rewards.reward === 1
  const values = Object.values(rewards)
  return values.length > 0 && values.every((value) => value >= 1)
}

/** `reward` is below 1 or, where no reward has that name, one of them is. */
function isBelow(rewards: Rewards | null): boolean {
  if (rewards === null) return true
  const { reward } = rewards
  return reward === undefined ? Object.values(rewards).some((value) => value < 1) : reward < 1
}

/** The worst result for some trials: first a failed check, then an unknown one. */
function worst(
  name: CheckName,
  records: readonly TrialRecord[],
  complaint: (record: TrialRecord) => string | null,
): Check {
  const checks = records.map((record): Check => {
    const { end } = record
    if (end.kind === 'failed') return blamed(name, end.failure)
    if (end.kind === 'cancelled') return { name, outcome: 'unknown', reasons: ['cancelled'] }
    const reason = complaint(record)
    return reason === null ? ok(name) : { name, outcome: 'fail', reasons: [reason] }
  })
  const gravest =
    checks.find(({ outcome }) => outcome === 'fail') ?? checks.find(({ outcome }) => outcome === 'unknown')
  return gravest ?? ok(name)
}

function blamed(name: CheckName, failure: Failure): Check {
  const { boundary, code, message } = failure
  const outcome = isTasksFault(failure) ? 'fail' : 'unknown'
  return { name, outcome, reasons: [`${boundary} failed: ${code}: ${message}`] }
}

/** A failure of the task's own files or tests counts against the task; any other says nothing about it. */
function isTasksFault({ boundary, code }: Failure): boolean {
  return boundary === 'verifier' || (boundary === 'task' && code !== 'UnsupportedEnvironmentError')
}

function ok(name: CheckName): Check {
  return { name, outcome: 'ok', reasons: [] }
}

/** Rewards in words: a single number if that is all, otherwise with sorted keys, so that equal ones look equal. */
export function describeRewards(rewards: Rewards | null): string {
  if (rewards === null) return 'nothing'
  const entries = Object.entries(rewards).sort(([a], [b]) => (a < b ? -1 : 1))
  if (entries.length === 1 && entries[0]?.[0] === 'reward') return String(entries[0][1])
  return JSON.stringify(Object.fromEntries(entries))
}
