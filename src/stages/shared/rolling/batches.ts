import type { TaskRow } from '../../../core/row.ts'

/** How many rows are rolled out together and held in memory at once. */
const batchRows = 256

/** Tasks in batches, for stages that pass each on once its trials have ended. */
export async function* batches(rows: AsyncIterable<TaskRow>): AsyncIterable<readonly TaskRow[]> {
  let batch: TaskRow[] = []
  for await (const row of rows) {
    batch.push(row)
    if (batch.length < batchRows) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
