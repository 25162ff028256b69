import { Command } from '@commander-js/extra-typings'
import { wholeNumber } from '../../app/flags/values.ts'
import { type DroppedRow, type DroppedRows, droppedRows, explainRun } from '../../app/recipe/read-run.ts'
import { UserError } from '../../core/errors.ts'
import { oneLine } from '../../lib/visible.ts'
import { note, printJson } from '../output.ts'
import { printCounts, printScores, printSources } from './counts-table.ts'

/** `ot-agent recipe explain`: how many rows of each source every stage kept, and why it dropped the others. */
export default () =>
  new Command()
    .description(
      'Shows how many rows each stage of a finished run kept, why it dropped the others, how many rows of each source are ' +
        'left, and the scores used to choose rows.\n' +
        'With --dropped it lists the rows that one stage dropped, each with its reason.',
    )
    .argument('<dir>', 'directory of a run, for example runs/demo')
    .option('--dropped <stage>', 'list the rows that this stage dropped')
    .option('--reason <reason>', 'with --dropped: only rows that were dropped for this reason')
    .option('-n, --rows <n>', 'with --dropped: maximum number of rows (default: 50)', wholeNumber(1))
    .option('--json', 'print the result as JSON')
    .action(async (dir, { dropped, reason, rows: limit, json }) => {
      if (dropped !== undefined) {
        const found = await droppedRows(dir, { stage: dropped, reason: reason ?? null, offset: 0, limit: limit ?? 50 })
        if (json) return printJson({ schema: 'recipe-dropped/1', ...found })
        return printDropped(found)
      }
      if (reason !== undefined || limit !== undefined)
        throw new UserError(
          '--reason and --rows: expected --dropped STAGE with them, got none',
          'add --dropped STAGE to choose the stage',
        )
      const report = await explainRun(dir)
      if (json) return printJson(report)
      printCounts(report.stages)
      printSources(report.steps)
      printScores(report.scores)
      for (const { dir: out, counts } of report.outputs)
        process.stdout.write(
          `${out}: ${Object.entries(counts)
            .map(([name, count]) => `${name} ${count}`)
            .join(', ')}\n`,
        )
    })

/** At most this many characters of a row's beginning are printed. */
const shownChars = 160

function printDropped({ stage, reasons, total, rows }: DroppedRows): void {
  if (total === 0) {
    const known = Object.keys(reasons)
    note(
      known.length === 0
        ? `${oneLine(stage)} dropped no rows`
        : `no row was dropped for that reason; the reasons are ${oneLine(known.join(', '))}`,
    )
    return
  }
  for (const { id, reason, detail, row } of rows) {
    process.stdout.write(`${oneLine(id ?? '(no id)')}  ${oneLine(reason)}${detail ? `: ${oneLine(detail)}` : ''}\n`)
    const begins = beginningOf(row)
    if (begins !== '') process.stdout.write(`    ${oneLine(begins).slice(0, shownChars)}\n`)
  }
  if (rows.length < total) note(`${rows.length} of ${total} rows; --rows shows more`)
}

/** What identifies a row to a reader: its prompt, or its fields. */
function beginningOf(row: DroppedRow['row']): string {
  if (row === null) return ''
  const messages: unknown = row.conversations
  const asked = Array.isArray(messages) ? messages.find((message) => Object(message).role === 'user') : undefined
  const text = row.instruction ?? Object(asked).content ?? JSON.stringify(row.fields ?? '')
  return String(text).slice(0, 4 * shownChars)
}
