import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { messageOf, UserError } from '../../core/errors.ts'
import { compressors } from '../task-parquet/read-column.ts'

const rowsAtOnce = 1000

/** The rows of any parquet file as records, in batches. */
export async function* readParquetRecords(path: string): AsyncGenerator<Record<string, unknown>, void, void> {
  try {
    const file = await asyncBufferFromFile(path)
    const metadata = await parquetMetadataAsync(file)
    const rows = Number(metadata.num_rows)
    for (let rowStart = 0; rowStart < rows; rowStart += rowsAtOnce) {
      const rowEnd = Math.min(rows, rowStart + rowsAtOnce)
      yield* await parquetReadObjects({ file, metadata, rowStart, rowEnd, compressors })
    }
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(`${path}: expected a parquet file, got ${messageOf(error)}`, 'is it whole?')
  }
}
