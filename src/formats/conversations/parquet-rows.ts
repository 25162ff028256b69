import { randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parquetMetadataAsync } from 'hyparquet'
import { messageOf, UserError } from '../../core/errors.ts'
import { collectGarbage } from '../../lib/collect-garbage.ts'
import { SqlDatabase, sqlName, sqlText } from '../../lib/duckdb.ts'
import { readParquetObjects } from '../task-parquet/read-objects.ts'
import { factColumns } from './facts.ts'
import type { RowRecord } from './messages.ts'
import type { NumberedRow, RowSource } from './row-source.ts'

/** Close the database after this long without a query. */
const idleMs = 1000

/** A parquet file, or some of its rows. */
export interface ParquetPart {
  readonly file: string
  /** A query for its rows that adds their position in the file as the column `row`. */
  readonly select: string
  readonly rows: number
  /** The number of rows in the whole file. */
  readonly rowsInFile: number
}

/** Whole files as parts. */
export async function fileParts(files: readonly string[]): Promise<readonly ParquetPart[]> {
  await using sql = await openSql()
  const counts = await rowCounts(files, sql)
  return files.map((file, i) => {
    const rows = counts[i] ?? 0
    const select = `SELECT * EXCLUDE (file_row_number), file_row_number AS row FROM read_parquet(${sqlText(file)}, file_row_number = true)`
    return { file, rows, rowsInFile: rows, select }
  })
}

/** The number of rows of each file, in one query; if that fails, file by file, so that the error names the file. */
async function rowCounts(files: readonly string[], sql: SqlDatabase): Promise<readonly number[]> {
  const count = (what: string) => `SELECT num_rows AS rows, file_name FROM parquet_file_metadata(${what})`
  try {
    const found = await sql.rows(count(`[${files.map(sqlText).join(', ')}]`))
    const byFile = new Map(found.map(({ file_name, rows }) => [String(file_name), Number(rows)]))
    const counts = files.flatMap((file) => byFile.get(file) ?? [])
    if (counts.length === files.length && found.length === files.length) return counts
  } catch {
    // Reported below, for the file concerned.
  }
  return Promise.all(files.map((file) => explained(file, () => sql.number(count(sqlText(file))))))
}

/**
 * Rows of parquet files, read by the database; files with invalid UTF-8 are read by a parser that can show them anyway.
 */
export class ParquetRows implements RowSource {
  readonly total: number
  private readonly lenient = new Set<string>()

  private reader: Promise<SqlDatabase> | null = null
  private closing: ReturnType<typeof setTimeout> | undefined
  private reading = 0
  /** The next request is often for more of the same row, and finding a row means reading a row group. */
  private last: { readonly number: number; readonly row: RowRecord | null } | null = null

  constructor(private readonly parts: readonly ParquetPart[]) {
    this.total = parts.reduce((sum, { rows }) => sum + rows, 0)
  }

  async *scan(signal: AbortSignal): AsyncGenerator<NumberedRow, void, void> {
    // A separate database, so that its memory is freed when all rows are read.
    await using sql = await openSql()
    let first = 0
    for (const part of this.parts) {
      let next = 0
      try {
        const columns = await columnsOf(part, sql)
        for await (const batch of sql.batches(`SELECT row, ${columns} FROM (${part.select})`, part.rows))
          for (const { row: place, ...row } of batch) {
            signal.throwIfAborted()
            next = Number(place) + 1
            yield { number: first + Number(place), row }
          }
      } catch (error) {
        if (!isEncoding(error)) throw signal.aborted ? error : refused(part.file, error)
        this.lenient.add(part.file)
        for await (const { number, row } of readLeniently(part.file, next)) yield { number: first + number, row }
      }
      first += part.rowsInFile
    }
  }

  async read(number: number): Promise<RowRecord | null> {
    if (this.last?.number === number) return this.last.row
    let place = number
    for (const part of this.parts) {
      if (place < part.rowsInFile) {
        const row = await this.readPlace(part, place)
        this.last = { number, row }
        return row
      }
      place -= part.rowsInFile
    }
    return null
  }

  async close(): Promise<void> {
    clearTimeout(this.closing)
    const { reader } = this
    this.reader = null
    this.last = null
    await (await reader)?.[Symbol.asyncDispose]()
  }

  /**
   * Runs a query. The database keeps tens of megabytes of what it read last, and is closed after a second without a
   * query.
   */
  private async query(sql: string): Promise<readonly RowRecord[]> {
    clearTimeout(this.closing)
    this.reader ??= openSql()
    this.reading++
    try {
      return await (await this.reader).rows(sql)
    } finally {
      this.reading--
      if (this.reading === 0) {
        clearTimeout(this.closing)
        this.closing = setTimeout(() => void this.close().then(collectGarbage, () => {}), idleMs).unref()
      }
    }
  }

  private async readPlace(part: ParquetPart, place: number): Promise<RowRecord | null> {
    try {
      if (!this.lenient.has(part.file)) {
        const [found] = await this.query(`SELECT * FROM (${part.select}) WHERE row = ${place}`)
        const { row: _row, ...rest } = found ?? {}
        return found ? rest : null
      }
    } catch (error) {
      if (!isEncoding(error)) throw refused(part.file, error)
      this.lenient.add(part.file)
    }
    for await (const { row } of readLeniently(part.file, place, place + 1)) return row
    return null
  }
}

async function columnsOf({ file, select }: ParquetPart, sql: SqlDatabase): Promise<string> {
  const found = await explained(file, () => sql.rows(`DESCRIBE ${select}`))
  const names = new Set(found.map(({ column_name }) => String(column_name)))
  const wanted = factColumns.filter((name) => names.has(name))
  return wanted.length === 0 ? 'NULL AS nothing' : wanted.map(sqlName).join(', ')
}

/** Rows of a file with invalid UTF-8 replaced; one row group is in memory. */
async function* readLeniently(path: string, from: number, to = Number.POSITIVE_INFINITY): AsyncGenerator<NumberedRow> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const buffer = {
      byteLength: size,
      slice: async (start: number, end = size) => {
        const bytes = new ArrayBuffer(Math.max(0, Math.min(end, size) - start))
        await file.read(new Uint8Array(bytes), 0, bytes.byteLength, start)
        return bytes
      },
    }
    const metadata = await parquetMetadataAsync(buffer)
    let first = 0
    for (const { num_rows } of metadata.row_groups) {
      const [rowStart, rowEnd] = [Math.max(first, from), Math.min(first + Number(num_rows), to)]
      first += Number(num_rows)
      if (rowStart >= rowEnd) continue
      const rows = await readParquetObjects({ file: buffer, metadata, rowStart, rowEnd })
      for (const [i, row] of rows.entries()) yield { number: rowStart + i, row }
    }
  } catch (error) {
    throw refused(path, error)
  } finally {
    await file.close()
  }
}

function openSql(): Promise<SqlDatabase> {
  const tempDir = join(tmpdir(), `ot-agent-rows-${randomBytes(6).toString('hex')}`)
  // Each thread holds a row group, and the first rows need only one.
  return SqlDatabase.open({ memoryMb: 768, threads: 1, tempDir })
}

function isEncoding(error: unknown): boolean {
  return /not valid UTF-?8|Invalid string encoding/i.test(messageOf(error))
}

async function explained<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw refused(path, error)
  }
}

function refused(path: string, error: unknown): Error {
  if (error instanceof UserError) return error
  const [why = ''] = messageOf(error).split('\n')
  return new UserError(`${path} cannot be read as parquet: ${why.slice(0, 300)}`, 'check that the file is complete')
}
