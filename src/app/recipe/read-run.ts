import { resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { type DroppedAsk, type DroppedRows, readDropped } from '../../run/recipe/dropped.ts'
import { type RowLineage, traceLineage } from '../../run/recipe/lineage.ts'
import { readReport } from '../../run/recipe/read-report.ts'
import type { RecipeReport } from '../../run/recipe/report.ts'

export type { DroppedRow, DroppedRows } from '../../run/recipe/dropped.ts'
export type { RowLineage, Sighting } from '../../run/recipe/lineage.ts'

/** What each stage of a finished run kept, and of which source. */
export async function explainRun(dir: string): Promise<RecipeReport> {
  return readReport(resolve(dir))
}

/** The way of one row of a finished run, by its id or the name of its trial. */
export async function lineageOfRow(out: string, row: string): Promise<RowLineage> {
  const dir = resolve(out)
  const found = await traceLineage(dir, await readReport(dir), row)
  if (found !== null) return found
  throw new UserError(`no row of ${dir} is called ${JSON.stringify(row)}`, 'ids are in the column `id` of the dataset')
}

/** Rows that a stage of a finished run dropped, and why. */
export async function droppedRows(out: string, ask: DroppedAsk): Promise<DroppedRows> {
  const dir = resolve(out)
  return readDropped(dir, await readReport(dir), ask)
}
