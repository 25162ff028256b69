import { oneLine } from '../../lib/visible.ts'
import type { TaskReport } from '../../run/check/check-task.ts'
import { checkNames, describeFinding, type Outcome } from '../../run/check/verdict.ts'

/** How each check of a task ended, in the order in which checks run. */
export function outcomesOf({ checks }: TaskReport): readonly { readonly name: string; readonly outcome: Outcome }[] {
  return checkNames.map((name) => ({
    name,
    outcome: checks.find((check) => check.name === name)?.outcome ?? 'skipped',
  }))
}

/** The names of all checks, in the same order. */
export const checkColumns: readonly string[] = checkNames

/** Why a task was not accepted, line by line: first what rejects it, then what is undecided. */
export function reasonsOf({ checks }: TaskReport): string[] {
  const of = (outcome: Outcome) =>
    checks
      .filter((check) => check.outcome === outcome)
      .flatMap(({ name, reasons }) => reasons.map((reason) => `${name}: ${reason}`))
  return [...of('fail'), ...of('unknown')]
}

/** Why a task was not accepted, in one line. */
export function firstReason(report: TaskReport): string {
  return oneLine(reasonsOf(report)[0] ?? '')
}

/** Lint findings that do not reject the task. */
export function warningsOf({ findings }: TaskReport): string[] {
  return findings.filter(({ severity }) => severity === 'warning').map(describeFinding)
}

/** Why a task was not accepted, with the relevant excerpt below each reason. */
export function evidenceOf({ checks }: TaskReport): string[] {
  return checks
    .filter(({ outcome }) => outcome === 'fail' || outcome === 'unknown')
    .flatMap(({ name, reasons, evidence = [] }) => [
      ...reasons.map((reason) => `${name}: ${reason}`),
      ...evidence.map((line) => `  | ${line}`),
    ])
}

/** The outcomes of one check over many tasks. */
export interface CheckYield extends Readonly<Record<Outcome, number>> {
  readonly name: string
}

/** How many tasks each check accepts, rejects, cannot decide or does not apply to. */
export function yieldsOf(reports: readonly TaskReport[]): CheckYield[] {
  const yields = checkNames.map((name) => ({ name, ok: 0, fail: 0, unknown: 0, skipped: 0 }))
  for (const report of reports)
    for (const [i, { outcome }] of outcomesOf(report).entries()) {
      const one = yields[i]
      if (one) one[outcome]++
    }
  return yields
}
