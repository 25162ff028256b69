import { randomBytes } from 'node:crypto'
import type { DuckDBConnection, DuckDBDataChunk, DuckDBInstance, DuckDBValueConverter, JS } from '@duckdb/node-api'
import { draftOf } from './drafts.ts'

export interface SqlOptions {
  readonly memoryMb: number
  readonly threads: number
  /** Prefix of the directory for data that does not fit into memory. */
  readonly tempDir: string
}

type Row = Readonly<Record<string, unknown>>

/** A private in-memory database, gone when closed; it reads and writes parquet and downloads nothing. */
export class SqlDatabase implements AsyncDisposable {
  static async open({ memoryMb, threads, tempDir }: SqlOptions): Promise<SqlDatabase> {
    const { DuckDBInstance: Instance } = await loadApi()
    const instance = await Instance.create(':memory:', {
      memory_limit: `${memoryMb}MB`,
      threads: String(threads),
      // Two databases that share a directory overwrite each other's files, and crash.
      temp_directory: draftOf(`${tempDir}-${randomBytes(6).toString('hex')}`),
      // Files are read only once; cached, their bytes would fill the memory up to the limit.
      enable_external_file_cache: 'false',
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
    })
    return new SqlDatabase(instance, await instance.connect())
  }

  private constructor(
    private readonly instance: DuckDBInstance,
    private readonly connection: DuckDBConnection,
    private readonly owns = true,
  ) {}

  async run(sql: string): Promise<void> {
    await this.connection.run(sql)
  }

  async rows(sql: string): Promise<readonly Row[]> {
    const reader = await this.connection.runAndReadAll(sql)
    return reader.getRowObjectsJS()
  }

  /** The single number a query returns. */
  async number(sql: string): Promise<number> {
    const [row = {}] = await this.rows(sql)
    return Number(Object.values(row)[0] ?? 0)
  }

  /**
   * The same database for statements that run in parallel with those of others, one at a time on each; closing it
   * leaves the database open.
   */
  async beside(): Promise<SqlDatabase> {
    return new SqlDatabase(this.instance, await this.instance.connect(), false)
  }

  /**
   * The rows of a query in order, in batches, each valid only while it is iterated; other statements may run in the
   * meantime. The number of rows must be known in advance: a query that fails midway ends as if there were no more
   * rows.
   */
  async *batches(sql: string, count: number): AsyncIterable<Iterable<Row>> {
    const { JSDuckDBValueConverter } = await loadApi()
    for await (const { chunk, names } of this.chunks(sql, count)) yield rowsIn(chunk, names, JSDuckDBValueConverter)
  }

  /**
   * The same by column, for callers that look at every one of many rows: a value is read on request, and the next rows
   * are fetched in the meantime.
   */
  async *columns(sql: string, count: number): AsyncIterable<ColumnBatch> {
    for await (const { chunk } of this.chunks(sql, count, true)) yield columnsIn(chunk)
  }

  private async *chunks(sql: string, count: number, ahead = false) {
    const own = await this.instance.connect()
    let seen = 0
    let next: Promise<DuckDBDataChunk | null> | null = null
    try {
      // A batch of long texts is tens of megabytes: at most one is read ahead of the current one.
      await own.run("SET streaming_buffer_size = '1KB'")
      const result = await own.stream(sql)
      const names = result.deduplicatedColumnNames()
      for (;;) {
        const chunk: DuckDBDataChunk | null = await (next ?? result.fetchChunk())
        next = null
        if (!chunk || chunk.rowCount === 0) break
        if (ahead) {
          next = result.fetchChunk()
          // Handled when its turn comes; until then a rejection must not count as unhandled.
          next.catch(() => {})
        }
        seen += chunk.rowCount
        yield { chunk, names }
        // Otherwise it waits for the garbage collector, which does not know how much memory it holds.
        chunk.reset()
      }
      if (seen === count) return
      // Run it again without the rows, to find out what went wrong.
      await own.run(`EXPLAIN ANALYZE ${sql}`)
      throw new Error(`expected ${count} rows, the database returned ${seen}: ${sql.slice(0, 200)}`)
    } finally {
      await next?.catch(() => {})
      own.closeSync()
    }
  }

  /** Creates a table with these columns (name to SQL type) and fills it. */
  async fill(
    table: string,
    columns: Readonly<Record<string, string>>,
    rows: AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>,
  ): Promise<void> {
    const { DuckDBDataChunkWriter, JSToDuckDBValueConverter } = await loadApi()
    const parts = Object.entries(columns).map(([name, type]) => `${sqlName(name)} ${type}`)
    await this.run(`CREATE TABLE ${sqlName(table)} (${parts.join(', ')})`)
    const appender = await this.connection.createAppender(table)
    const writer = DuckDBDataChunkWriter.forAppender(appender, { converter: JSToDuckDBValueConverter })
    type Value = Parameters<typeof writer.appendRow>[0]
    for await (const row of rows) writer.appendRow(row as Value)
    writer.flush()
    appender.closeSync()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.connection.closeSync()
    if (this.owns) this.instance.closeSync()
  }
}

type Api = typeof import('@duckdb/node-api')

/** The package is CommonJS, of which a bundle has only the default export. */
async function loadApi(): Promise<Api> {
  const loaded: Api & { readonly default?: Api } = await import('@duckdb/node-api')
  return loaded.default ?? loaded
}

/** Some rows of a query, by column and row, both from 0; valid only while they are being examined. */
export interface ColumnBatch {
  readonly rows: number
  number(column: number, row: number): number
  text(column: number, row: number): string
  /** From a column of bytes; null for an empty value. */
  bytes(column: number, row: number): Uint8Array | null
}

function columnsIn(chunk: DuckDBDataChunk): ColumnBatch {
  const itemAt = (column: number, row: number) => chunk.getColumnVector(column).getItem(row)
  return {
    rows: chunk.rowCount,
    number: (column, row) => Number(itemAt(column, row)),
    text: (column, row) => String(itemAt(column, row)),
    bytes: (column, row) => {
      const vector = chunk.getColumnVector(column)
      if (!('getItemBytes' in vector) || typeof vector.getItemBytes !== 'function')
        throw new Error(`column ${column} has no bytes`)
      return vector.getItemBytes(row)
    },
  }
}

function* rowsIn(chunk: DuckDBDataChunk, names: readonly string[], converter: DuckDBValueConverter<JS>): Iterable<Row> {
  for (let i = 0; i < chunk.rowCount; i++) {
    const row: Record<string, unknown> = {}
    for (const [column, value] of chunk.convertRowValues(i, converter).entries()) row[names[column] ?? ''] = value
    yield row
  }
}

/** A text as an SQL literal. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** A name as an SQL identifier. */
export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
