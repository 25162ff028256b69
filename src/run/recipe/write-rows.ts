import { type SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { encodeRow, rowColumns, type StoredKind } from '../../store/rows/columns.ts'
import type { Reject } from './step-run.ts'

const rejectColumns = { id: 'VARCHAR', stage: 'VARCHAR', reason: 'VARCHAR', detail: 'VARCHAR' }
/** Rows passed between stages are read again soon, so writing fast matters more than small files. */
const parquet = '(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 2048)'
/**
 * The approximate size of a row group. A reader of long rows holds a few groups at once, and 2,048 of those may be
 * hundreds of megabytes.
 */
const groupBytes = 2 ** 24

type Values = readonly unknown[]

/** Writes rows as a parquet file; returns how many there were. */
export async function writeRows(
  sql: SqlDatabase,
  kind: StoredKind,
  rows: AsyncIterable<object>,
  file: string,
): Promise<number> {
  let count = 0
  const encoded = async function* () {
    for await (const row of rows) {
      count++
      yield encodeRow(kind, row)
    }
  }
  await writeTable(sql, rowColumns[kind], encoded(), file)
  return count
}

/** Writes dropped rows as a parquet file. */
export async function writeRejects(sql: SqlDatabase, rejects: readonly Reject[], file: string): Promise<void> {
  const encoded = async function* () {
    for (const { id, stage, reason, detail } of rejects) yield [id, stage, reason, detail]
  }
  await writeTable(sql, rejectColumns, encoded(), file)
}

/** Writes the rows of a query as a parquet file, in order. */
export async function copyTo(sql: SqlDatabase, query: string, file: string): Promise<void> {
  await sql.run(`COPY (${query}) TO ${sqlText(file)} ${parquet}`)
}

let tables = 0

/**
 * The database makes one row group for every 2,048 rows of a table, or one for the whole table, so long rows go into
 * several.
 */
async function writeTable(
  sql: SqlDatabase,
  columns: Readonly<Record<string, string>>,
  rows: AsyncGenerator<Values>,
  file: string,
): Promise<void> {
  const filled: string[] = []
  try {
    for (let more = true; more; ) {
      const table = `written_${tables++}`
      filled.push(table)
      const atEnd = () => {
        more = false
      }
      await sql.fill(table, columns, takeGroup(rows, atEnd))
    }
    await copyTo(sql, filled.map((table) => `SELECT * FROM ${table}`).join(' UNION ALL '), file)
  } finally {
    await rows.return(undefined)
    for (const table of filled) await sql.run(`DROP TABLE IF EXISTS ${table}`)
  }
}

/** The next rows of a generator, enough for one row group; calls `atEnd` when there are no more. */
async function* takeGroup(rows: AsyncGenerator<Values>, atEnd: () => void): AsyncIterable<Values> {
  for (let bytes = 0; bytes < groupBytes; ) {
    const next = await rows.next()
    if (next.done) return atEnd()
    bytes += sizeOf(next.value)
    yield next.value
  }
}

/** The approximate size of a value. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (value instanceof Uint8Array) return value.byteLength
  if (typeof value !== 'object' || value === null) return 8
  return Object.values(value).reduce((sum: number, each) => sum + sizeOf(each), 0)
}
