import type { RehearsalReport } from '../../app/recipe/rehearse.ts'
import { oneLine } from '../../lib/visible.ts'
import { note, printJson, printTable } from '../output.ts'

/** Prints what every stage of a rehearsal took, gave and dropped, and what it was tried without; ends with 3 when one broke. */
export function reportRehearsal(report: RehearsalReport, json: boolean): void {
  const { stages, brokenAt, outputs, dir, recipe } = report
  if (brokenAt !== null) process.exitCode = 3
  if (json) {
    printJson(report)
    return
  }
  printTable(
    ['stage', 'taken', 'given', 'dropped', 'tried with'],
    stages.map(({ id, taken, given, drops, substituted }) => [
      id,
      taken === 0 && given > 0 ? '' : String(taken),
      String(given),
      Object.entries(drops)
        .map(([reason, count]) => `${reason} ${count}`)
        .join(', '),
      substituted.map(oneLine).join('; '),
    ]),
  )
  const say = (line: string) => process.stdout.write(`${oneLine(line)}\n`)
  for (const { id, notExercised } of stages) for (const what of notExercised) say(`not exercised: ${id}: ${what}`)
  for (const { id, endedEmpty } of stages)
    if (endedEmpty) say(`${id} dropped every row of the rehearsal; the stages below it were tried without it`)
  for (const { dir: out } of outputs) say(`${out}: a rehearsal, nothing to train on`)
  note(
    brokenAt === null
      ? `every stage of ${recipe} ran; details in ${dir}`
      : `${recipe} broke at ${brokenAt}: it gave no rows`,
  )
}
