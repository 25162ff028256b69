import { checkColumns, firstReason, outcomesOf, reasonsOf, warningsOf } from '../../app/check/reasons.ts'
import type { TaskReport } from '../../app/check-tasks.ts'
import { oneLine } from '../../lib/visible.ts'
import { printTable } from '../output.ts'

/** Prints a row per task, then whatever did not fit into the rows. */
export function printReports(reports: readonly TaskReport[]): void {
  printTable(['task', 'verdict', ...checkColumns, 'reason'], reports.map(row))
  for (const report of reports) {
    const warnings = warningsOf(report).map((warning) => `warning: ${warning}`)
    const more = [...reasonsOf(report).slice(1), ...warnings]
    if (more.length > 0)
      process.stdout.write(`\n${oneLine(report.task)}\n${more.map((line) => `  ${oneLine(line)}\n`).join('')}`)
  }
  const notes = new Set(reports.flatMap((report) => report.notes))
  if (notes.size > 0) process.stdout.write(`\n${[...notes].map((line) => `note: ${oneLine(line)}\n`).join('')}`)
}

const marks = { ok: 'ok', fail: 'FAIL', unknown: '?', skipped: '-' } as const

function row(report: TaskReport): string[] {
  const reason = firstReason(report)
  return [
    ...[oneLine(report.task), report.verdict, ...outcomesOf(report).map(({ outcome }) => marks[outcome])],
    reason.length > 100 ? `${reason.slice(0, 99)}…` : reason,
  ]
}
