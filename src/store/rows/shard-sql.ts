import { sqlText } from '../../lib/duckdb.ts'
import type { Shard } from './shards.ts'

type Rows = Pick<Shard, 'part' | 'kept' | 'rows'>

/** The rows of a shard as a query, in order. */
export function selectRows({ part, kept }: Rows): string {
  if (!kept?.includes('0')) return `SELECT * FROM read_parquet(${sqlText(part)})`
  return `SELECT * EXCLUDE (file_row_number) FROM read_parquet(${sqlText(part)}, file_row_number = true) WHERE ${isKept(kept)}`
}

/** The same with `row`, the place of each in the file, counted from `first`. */
export function selectNumbered({ part, kept }: Rows, first: number): string {
  const rows = `SELECT * EXCLUDE (file_row_number), file_row_number + ${first} AS row FROM read_parquet(${sqlText(part)}, file_row_number = true)`
  return kept?.includes('0') ? `${rows} WHERE ${isKept(kept)}` : rows
}

/** How many rows the file of a shard has, its own and others. */
export function rowsInFile({ kept, rows }: Rows): number {
  return kept?.length ?? rows
}

/** One bit for each row, so that a plain scan tells which are meant, keeps their order and sorts nothing. */
function isKept(kept: string): string {
  return `get_bit('${kept}'::BIT, file_row_number::INTEGER) = 1`
}
