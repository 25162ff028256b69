import { type SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { encodeRow, rowColumns, type StoredKind } from '../../store/rows/columns.ts'
import type { Reject } from './step-run.ts'

const rejectColumns = { id: 'VARCHAR', stage: 'VARCHAR', reason: 'VARCHAR', detail: 'VARCHAR' }
/** What stages pass on is read again soon: written fast before it is written small. */
const parquet = '(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 2048)'
/** Of a row group, roughly. A reader of long rows holds a few groups at once, and 2,048 of them may be hundreds of megabytes. */
const groupBytes = 2 ** 24

type Values = readonly unknown[]

/** Writes rows as a parquet file; gives how many there were. */
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

/** Writes what was dropped as a parquet file. */
export async function writeRejects(sql: SqlDatabase, rejects: readonly Reject[], file: string): Promise<void> {
  const encoded = async function* () {
    for (const { id, stage, reason, detail } of rejects) yield [id, stage, reason, detail]
  }
  await writeTable(sql, rejectColumns, encoded(), file)
}

/** Writes the rows of a query as a parquet file, in their order. */
export async function copyTo(sql: SqlDatabase, query: string, file: string): Promise<void> {
  await sql.run(`COPY (${query}) TO ${sqlText(file)} ${parquet}`)
}

let tables = 0

/** The database makes a row group of every 2,048 rows of a table, or of the whole table: long rows go into several. */
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

/** The next rows of a generator, as many as make a row group; `atEnd` is called when there are no more. */
async function* takeGroup(rows: AsyncGenerator<Values>, atEnd: () => void): AsyncIterable<Values> {
  for (let bytes = 0; bytes < groupBytes; ) {
    const next = await rows.next()
    if (next.done) return atEnd()
    bytes += sizeOf(next.value)
    yield next.value
  }
}

/** About how much room a value takes. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (value instanceof Uint8Array) return value.byteLength
  if (typeof value !== 'object' || value === null) return 8
  return Object.values(value).reduce((sum: number, each) => sum + sizeOf(each), 0)
}
