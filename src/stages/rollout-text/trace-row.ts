import type { TaskLineage } from '../../core/row.ts'
import type { Dropped, Stage } from '../../core/stage.ts'
import type { TraceRow } from '../../formats/traces/row.ts'

/** A trace as it travels between the stages of a recipe: with what is known about its task. */
export interface RecipeTrace extends Omit<TraceRow, 'conversations_sharegpt'> {
  /** Job, trial, trace source and episode: unique, and the same when the job is read again. */
  readonly id: string
  readonly lineage: TaskLineage | null
  readonly signals: Readonly<Record<string, number>>
}

export interface Verdict {
  readonly reason: string
  readonly detail: string
}

/** A filter that looks at one trace at a time: null keeps it. */
export function traceFilter(judge: (row: RecipeTrace) => Verdict | null): Stage<RecipeTrace, RecipeTrace> {
  return {
    takes: 'trace',
    gives: 'trace',
    filter: true,
    async *run(rows): AsyncIterable<RecipeTrace | Dropped> {
      for await (const row of rows) {
        const verdict = judge(row)
        yield verdict === null ? row : { drop: verdict.reason, detail: verdict.detail, id: row.id }
      }
    },
  }
}

/** A piece of a text that no reject gets longer by. */
export function brief(text: string, most = 160): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= most ? line : `${line.slice(0, most - 3)}...`
}
