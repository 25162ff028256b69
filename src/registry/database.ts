import type { z } from 'zod'
import type { Sql, Value } from './sql.ts'

export type Row = Readonly<Record<string, unknown>>

/** Rows to insert into one table, all with the same columns. */
export interface Insert {
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Value[])[]
}

/** Statements that run one after the other, on their own or in a transaction. */
export interface Queries {
  readonly dialect: 'sqlite' | 'postgresql'
  /** Returns the rows of a query, each validated against a schema. */
  rows<T>(schema: z.ZodType<T>, query: Sql): Promise<T[]>
  /** Runs a statement and returns how many rows it changed. */
  run(statement: Sql): Promise<number>
  /** Inserts rows, skipping those that already exist. Returns how many are new. */
  insert(insert: Insert): Promise<number>
  /** Runs a script of semicolon-separated statements that is part of the program. */
  script(text: string): Promise<void>
}

/** One interface to both an embedded database file and PostgreSQL. */
export interface Database extends Queries, AsyncDisposable {
  /** All statements of `work` take effect, or none does. On SQLite only one registry transaction writes at a time. */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>
  /** A consistent view of the database for long reads while others write. */
  snapshot(): Promise<Snapshot>
}

/** A frozen, read-only view of the database. */
export interface Snapshot extends AsyncDisposable {
  /** Yields the rows of a query in batches, so that memory stays bounded. */
  batches(query: Sql): AsyncIterable<readonly Row[]>
}

/** Rows per batch. */
export const batchRows = 500
