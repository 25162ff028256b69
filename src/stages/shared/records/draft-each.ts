import type { RawRow, TaskDraft } from '../../../core/row.ts'
import type { Dropped, MapStage } from '../../../core/stage.ts'

/** A maker that turns every row of a source into one task, or drops it with a reason. */
export function draftEach(make: (row: RawRow, seed: number) => TaskDraft | Dropped): MapStage<RawRow, TaskDraft> {
  return {
    kind: 'map',
    takes: 'raw',
    gives: 'draft',
    async *run(rows, at) {
      for await (const row of rows) {
        at.signal.throwIfAborted()
        yield make(row, at.seed)
      }
    },
  }
}
