import { join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { type ScoreStatistics, scoreStatisticsSchema } from '../../core/score-statistics.ts'
import { type DroppedAsk, type DroppedRows, readDropped } from '../../run/recipe/dropped.ts'
import { type RowLineage, traceLineage } from '../../run/recipe/lineage.ts'
import { readReport } from '../../run/recipe/read-report.ts'
import type { RecipeReport } from '../../run/recipe/report.ts'
import { readResult } from '../../run/recipe/results.ts'

export type { DroppedRow, DroppedRows } from '../../run/recipe/dropped.ts'
export type { RowLineage, Sighting } from '../../run/recipe/lineage.ts'

/** What a finished run did, with the scores by which stages selected rows. */
export interface ExplainedRun extends RecipeReport {
  readonly scores: readonly ({ readonly stage: string } & ScoreStatistics)[]
}

/** How many rows of each source every stage of a finished run kept, and by which scores. */
export async function explainRun(given: string): Promise<ExplainedRun> {
  const dir = resolve(given)
  const report = await readReport(dir)
  const scores: ExplainedRun['scores'][number][] = []
  for (const { id, dir: rows } of report.steps) {
    const found = scoreStatisticsSchema.safeParse(Object(await readResult(join(dir, rows))).scores)
    if (found.success) scores.push({ stage: id, ...found.data })
  }
  return { ...report, scores }
}

/** The lineage of one row of a finished run, given its id or the name of its trial. */
export async function lineageOfRow(out: string, row: string): Promise<RowLineage> {
  const dir = resolve(out)
  const found = await traceLineage(dir, await readReport(dir), row)
  if (found !== null) return found
  throw new UserError(`${dir} has no row ${JSON.stringify(row)}`, 'ids are in the column `id` of the dataset')
}

/** The rows that a stage of a finished run dropped, with reasons. */
export async function droppedRows(out: string, ask: DroppedAsk): Promise<DroppedRows> {
  const dir = resolve(out)
  return readDropped(dir, await readReport(dir), ask)
}
