import type { TaskReport } from '../../run/check/check-task.ts'
import { checkNames, describeFinding, type Outcome } from '../../run/check/verdict.ts'
import { printTable } from '../output.ts'

/** Prints a row per task, then whatever did not fit into the rows. */
export function printReports(reports: readonly TaskReport[]): void {
  const header = ['task', 'verdict', ...checkNames, 'reason']
  printTable(header, reports.map(row))
  for (const report of reports) {
    const more = [...reasonsOf(report).slice(1), ...warningsOf(report)]
    if (more.length > 0)
      process.stdout.write(`\n${oneLine(report.task)}\n${more.map((line) => `  ${oneLine(line)}\n`).join('')}`)
  }
  const notes = new Set(reports.flatMap((report) => report.notes))
  if (notes.size > 0) process.stdout.write(`\n${[...notes].map((line) => `note: ${oneLine(line)}\n`).join('')}`)
}

/** Why a task was not accepted, in one line. */
export function firstReason(report: TaskReport): string {
  return oneLine(reasonsOf(report)[0] ?? '')
}

const marks: Record<Outcome, string> = { ok: 'ok', fail: 'FAIL', unknown: '?', skipped: '-' }

function row(report: TaskReport): string[] {
  const marksOf = checkNames.map(
    (name) => marks[report.checks.find((check) => check.name === name)?.outcome ?? 'skipped'],
  )
  const reason = firstReason(report)
  return [oneLine(report.task), report.verdict, ...marksOf, reason.length > 100 ? `${reason.slice(0, 99)}…` : reason]
}

/** What rejects comes before what is not known. */
function reasonsOf({ checks }: TaskReport): string[] {
  const of = (outcome: Outcome) =>
    checks
      .filter((check) => check.outcome === outcome)
      .flatMap(({ name, reasons }) => reasons.map((reason) => `${name}: ${reason}`))
  return [...of('fail'), ...of('unknown')]
}

function warningsOf({ findings }: TaskReport): string[] {
  return findings
    .filter(({ severity }) => severity === 'warning')
    .map((finding) => `warning: ${describeFinding(finding)}`)
}

/** Messages may quote a hostile task: no line breaks, and nothing a terminal would obey. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
}
