import type { TaskLineage } from '../../../core/row.ts'
import type { RowFilter, Verdict } from '../../../core/stage.ts'
import type { ExtraColumn, TraceRow } from '../../../formats/traces/row.ts'

/** A trace as it passes between the stages of a recipe, with what is known about its task. */
export interface RecipeTrace extends Omit<TraceRow, ExtraColumn> {
  /** Job, trial, trace source and episode: unique, and stable when the job is read again. */
  readonly id: string
  readonly lineage: TaskLineage | null
  readonly signals: Readonly<Record<string, number>>
}

/** A filter that looks at one trace at a time. */
export function traceFilter(keep: (row: RecipeTrace) => Verdict): RowFilter<RecipeTrace> {
  return { kind: 'filter', takes: 'trace', keep }
}

/** An excerpt of a text, limiting the length of a reject's reason. */
export function brief(text: string, most = 160): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= most ? line : `${line.slice(0, most - 3)}...`
}
