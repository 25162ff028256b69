import type { PinReport } from '../../app/pin/pin-task.ts'
import { printTable } from '../output.ts'

/** Prints what was pinned and what was left, a row each, then how each task ended. */
export function printPins(reports: readonly PinReport[]): void {
  const rows = reports.flatMap(rowsOf)
  if (rows.length > 0) {
    printTable(['task', 'line', 'kind', 'from', 'to'], rows)
    process.stdout.write('\n')
  }
  printTable(
    ['task', 'result', 'pinned', 'left', 'reason'],
    reports.map(({ task, status, pins, left, reason }) => [
      task,
      status,
      String(pins.length),
      String(left.length),
      reason ?? '',
    ]),
  )
}

function rowsOf({ task, status, pins, left }: PinReport): string[][] {
  const undone = status === 'kept' || status === 'refused'
  const rows = [
    ...pins.map(({ manager, line, from, to }) => ({ line, manager, from, to: undone ? `not ${to}` : to })),
    ...left.map(({ manager, line, written, why }) => ({ line, manager, from: written, to: `left: ${why}` })),
  ]
  return rows
    .sort((a, b) => a.line - b.line)
    .map(({ line, manager, from, to }) => [task, String(line), manager, from, to])
}
