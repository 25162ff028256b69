import { Command } from '@commander-js/extra-typings'
import { lineageOfRow, type RowLineage, type Sighting } from '../../app/recipe/read-run.ts'
import { oneLine } from '../../lib/visible.ts'
import { printJson } from '../output.ts'

/** `ot-agent recipe lineage`: traces one row from its source to where it ended up. */
export default () =>
  new Command()
    .description(
      'Follows a row of a finished run back to its source. For a dropped row, names the stage that dropped it and the reason.',
    )
    .argument('<row>', 'id of a row, or name of its trial')
    .option('-o, --out <dir>', 'directory of the run', 'runs/demo')
    .option('--json', 'print the result as JSON')
    .action(async (row, { out, json }) => {
      const found = await lineageOfRow(out, row)
      if (json) return printJson(withoutArchive(found))
      for (const line of linesOf(found)) process.stdout.write(`${oneLine(line)}\n`)
    })

/** More rows than this that were made from one are only counted. */
const mostMade = 20

function linesOf({ way, made, task }: RowLineage): string[] {
  const lines = way.map(lineOf)
  if (task?.lineage) {
    const { pipeline, strategy, rowId, rowDigest, model } = task.lineage
    lines.unshift(
      `source: pipeline ${pipeline}, row ${rowId} (${rowDigest.slice(0, 16)}), by ${strategy}${model ? ` with ${model}` : ''}`,
    )
  }
  if (task) lines.push(`task: ${task.name}, digest ${task.digest}`)
  lines.push(...made.slice(0, mostMade).map((id) => `made from it: ${id}`))
  if (made.length > mostMade) lines.push(`made from it: ${made.length - mostMade} more, which --json lists`)
  return lines
}

function lineOf(sighting: Sighting): string {
  if (!sighting.kept)
    return `${sighting.step}: dropped by ${sighting.stage}: ${sighting.reason}${sighting.detail ? ` (${sighting.detail})` : ''}`
  const { row } = sighting
  const facts = ['trial_name', 'model', 'agent', 'result', 'turns', 'prompt_digest'].filter((key) => row[key] != null)
  const signals = Object.entries(Object(row.signals) as object).map(([name, value]) => `${name}=${value}`)
  return `${sighting.step}: kept ${String(row.id)} ${[...facts.map((key) => `${key}=${row[key]}`), ...signals].join(' ')}`
}

/** Leaves out archive bytes, which mean nothing to a reader. */
function withoutArchive({ id, way, made, task }: RowLineage): object {
  const strip = (row: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.entries(row).filter(([key]) => key !== 'archive' && key !== 'conversations'))
  return {
    schema: 'recipe-lineage/1',
    id,
    way: way.map((sighting) => (sighting.kept ? { ...sighting, row: strip(sighting.row) } : sighting)),
    made,
    task: task && strip(task as unknown as Record<string, unknown>),
  }
}
