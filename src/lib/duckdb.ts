import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'

export interface SqlOptions {
  readonly memoryMb: number
  readonly threads: number
  /** Where it puts what does not fit into memory. */
  readonly tempDir: string
}

type Row = Readonly<Record<string, unknown>>

/** A private database in memory, gone when it is closed; it reads and writes parquet and downloads nothing. */
export class SqlDatabase implements AsyncDisposable {
  static async open({ memoryMb, threads, tempDir }: SqlOptions): Promise<SqlDatabase> {
    const { DuckDBInstance: Instance } = await import('@duckdb/node-api')
    const instance = await Instance.create(':memory:', {
      memory_limit: `${memoryMb}MB`,
      threads: String(threads),
      temp_directory: tempDir,
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

  /** The one number a query gives. */
  async number(sql: string): Promise<number> {
    const [row = {}] = await this.rows(sql)
    return Number(Object.values(row)[0] ?? 0)
  }

  /** The same database for statements that run beside those of others, one each at a time; closing it leaves the database open. */
  async beside(): Promise<SqlDatabase> {
    return new SqlDatabase(this.instance, await this.instance.connect(), false)
  }

  /** The rows of a query in order, a bounded number at a time; other statements may run meanwhile. */
  async *batches(sql: string): AsyncIterable<readonly Row[]> {
    const own = await this.instance.connect()
    try {
      yield* (await own.stream(sql)).yieldRowObjectJs()
    } finally {
      own.closeSync()
    }
  }

  /** Makes a table of these columns (name to SQL type) and fills it. */
  async fill(
    table: string,
    columns: Readonly<Record<string, string>>,
    rows: AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>,
  ): Promise<void> {
    const { DuckDBDataChunkWriter, JSToDuckDBValueConverter } = await import('@duckdb/node-api')
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

/** A text as an SQL literal. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** A name as an SQL identifier. */
export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
