import type { z } from 'zod'
import type { Sql, Value } from './sql.ts'

export type Row = Readonly<Record<string, unknown>>

/** Rows to insert into one table, all with the same columns. */
export interface Insert {
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Value[])[]
}

/** Statements that run one after the other, alone or in a transaction. */
export interface Queries {
  readonly dialect: 'sqlite' | 'postgresql'
  /** The rows of a query, each checked by a schema. */
  rows<T>(schema: z.ZodType<T>, query: Sql): Promise<T[]>
  /** Runs a statement and returns how many rows it changed. */
  run(statement: Sql): Promise<number>
  /** Inserts rows and leaves those alone that are there already. Returns how many are new. */
  insert(insert: Insert): Promise<number>
  /** Runs statements of the program itself that are separated by semicolons. */
  script(text: string): Promise<void>
}

/** The same interface to an embedded database file and to PostgreSQL. */
export interface Database extends Queries, AsyncDisposable {
  /** All statements of `work` take effect, or none does. Only one transaction of the registry writes at a time on SQLite. */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>
  /** One state of the database, to read at length while others write. */
  snapshot(): Promise<Snapshot>
}

/** A state of the database that does not change. Nothing can be written through it. */
export interface Snapshot extends AsyncDisposable {
  /** The rows of a single query, some at a time, so that memory stays bounded. */
  batches(query: Sql): AsyncIterable<readonly Row[]>
}

/** How many rows a batch holds. */
export const batchRows = 500
