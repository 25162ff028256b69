import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type Libsql from 'libsql'
import type { Statement } from 'libsql'
import type { z } from 'zod'
import { messageOf, UserError } from '../core/errors.ts'
import { batchRows, type Database, type Insert, type Queries, type Row, type Snapshot } from './database.ts'
import { portable, type Sql, textOf } from './sql.ts'

/** How long a writer waits for other processes writing to the same file. */
const patienceMs = 60_000

/**
 * Opens the registry in an SQLite file, creating it and its directory if missing. Several processes may use it at once.
 */
export async function openSqlite(path: string): Promise<Database> {
  await mkdir(dirname(path), { recursive: true })
  const { default: Driver } = await import('libsql')
  try {
    const connection = await patiently(path, () => configured(new Driver(path, { timeout: 100 })))
    return new SqliteDatabase(path, connection)
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(
      `${path}: expected a registry, got a file that SQLite cannot open: ${messageOf(error)}`,
      'choose another file with --registry, or restore this one from an export',
    )
  }
}

function configured(connection: Libsql): Libsql {
  try {
    for (const pragma of ['journal_mode = WAL', 'synchronous = NORMAL', 'foreign_keys = ON', 'cache_size = -65536'])
      connection.prepare(`PRAGMA ${pragma}`).all([])
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

class SqliteDatabase implements Database {
  readonly dialect = 'sqlite'
  readonly #queries: SqliteQueries
  /** The previous task in line: statements outside an open transaction wait for it to end. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly path: string,
    private readonly connection: Libsql,
  ) {
    this.#queries = new SqliteQueries(connection)
  }

  rows<T>(schema: z.ZodType<T>, query: Sql): Promise<T[]> {
    return this.#alone(() => this.#queries.rows(schema, query))
  }

  run(statement: Sql): Promise<number> {
    return this.transaction((queries) => queries.run(statement))
  }

  insert(insert: Insert): Promise<number> {
    return this.transaction((queries) => queries.insert(insert))
  }

  script(text: string): Promise<void> {
    return this.#alone(() => this.#queries.script(text))
  }

  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    return this.#alone(async () => {
      // Taking the write lock up front means a transaction never fails halfway because another process wrote.
      await patiently(this.path, () => this.connection.exec('BEGIN IMMEDIATE'))
      try {
        const result = await work(this.#queries)
        this.connection.exec('COMMIT')
        return result
      } catch (error) {
        try {
          this.connection.exec('ROLLBACK')
        } catch {
          // After some errors, such as a full disk, SQLite has already rolled back.
        }
        throw error
      }
    })
  }

  async snapshot(): Promise<Snapshot> {
    const { default: Driver } = await import('libsql')
    const own = new Driver(this.path, { timeout: 5000 })
    own.exec('PRAGMA query_only = ON; BEGIN')
    return {
      batches: async function* (query) {
        yield* chunks(own.prepare(textOf(query, () => '?')).iterate(query.values.map(portable)))
      },
      [Symbol.asyncDispose]: async () => own.close(),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last.catch(() => {})
    this.connection.close()
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work, work)
    this.#last = mine.catch(() => {})
    return mine
  }
}

class SqliteQueries implements Queries {
  readonly dialect = 'sqlite'
  readonly #inserts = new Map<string, Statement>()

  constructor(private readonly connection: Libsql) {}

  async rows<T>(schema: z.ZodType<T>, query: Sql): Promise<T[]> {
    const found = this.connection.prepare(textOf(query, () => '?')).all(query.values.map(portable))
    return found.map((row) => schema.parse(row))
  }

  async run(statement: Sql): Promise<number> {
    return this.connection.prepare(textOf(statement, () => '?')).run(statement.values.map(portable)).changes
  }

  async insert({ table, columns, rows }: Insert): Promise<number> {
    const places = columns.map(() => '?').join(', ')
    const text = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places}) ON CONFLICT DO NOTHING`
    const statement = this.#inserts.get(text) ?? this.connection.prepare(text)
    this.#inserts.set(text, statement)
    return rows.reduce((sum, row) => sum + statement.run(row.map(portable)).changes, 0)
  }

  async script(text: string): Promise<void> {
    this.connection.exec(text)
  }
}

function* chunks(rows: Iterable<Row>): Generator<readonly Row[], void, void> {
  let chunk: Row[] = []
  for (const row of rows) {
    chunk.push(row)
    if (chunk.length < batchRows) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}

/** Retries while another process holds the lock, without blocking this process in between. */
async function patiently<T>(path: string, work: () => T): Promise<T> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!/\b(locked|busy)\b/i.test(messageOf(error))) throw error
      if (performance.now() > deadline)
        throw new UserError(
          `${path}: expected to write within ${patienceMs / 1000} s, but another process holds the lock`,
          'wait for it to end, or use PostgreSQL for many writers',
        )
      await sleep(5 + Math.random() * 45)
    }
  }
}
