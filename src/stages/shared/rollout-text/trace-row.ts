import type { TaskLineage } from '../../../core/row.ts'
import type { RowFilter, Verdict } from '../../../core/stage.ts'
import type { ExtraColumn, TraceRow } from '../../../formats/traces/row.ts'

/** A trace as it travels between the stages of a recipe: with what is known about its task. */
export interface RecipeTrace extends Omit<TraceRow, ExtraColumn> {
  /** Job, trial, trace source and episode: unique, and the same when the job is read again. */
  readonly id: string
  readonly lineage: TaskLineage | null
  readonly signals: Readonly<Record<string, number>>
}

/** A filter that looks at one trace at a time. */
export function traceFilter(keep: (row: RecipeTrace) => Verdict): RowFilter<RecipeTrace> {
  return { kind: 'filter', takes: 'trace', keep }
}

/** A piece of a text that no reject gets longer by. */
export function brief(text: string, most = 160): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= most ? line : `${line.slice(0, most - 3)}...`
}
