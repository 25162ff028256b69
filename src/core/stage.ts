import type { ModelClient } from './model.ts'
import type { RowKind } from './row.ts'
import type { SandboxProvider } from './sandbox.ts'

/** A row that goes no further, and why. The reason is a short kebab-case word that counts are kept by; the detail is for people. */
export interface Dropped {
  readonly drop: string
  readonly detail?: string
  /** Which row it was. */
  readonly id?: string
}

/** What every stage may need from whoever runs it. */
export interface StageContext {
  /** Every random choice of a stage comes from this and the row. */
  readonly seed: number
  readonly signal: AbortSignal
  /** A directory of the stage's own, kept between runs of the same stage on the same input. */
  readonly workDir: string
  /** Null when the run has no model; a stage that needs one then throws UserError before its first row. */
  readonly model: ModelClient | null
  /** Null when the run has no sandboxes. */
  readonly sandboxes: SandboxProvider | null
  log(line: string): void
}

/**
 * Rows in, rows out, in order, as they come. A stage that fails for one row drops that row with a reason; it throws only
 * when no later row could do better.
 */
export interface Stage<In = unknown, Out = unknown> {
  /** Null for a source, which takes nothing. */
  readonly takes: RowKind | null
  readonly gives: RowKind
  /** For a source: a digest of all that its rows depend on beside its options. The same digest promises the same rows. */
  fingerprint?(at: StageContext): Promise<string>
  run(rows: AsyncIterable<In>, at: StageContext): AsyncIterable<Out | Dropped>
}

/**
 * A filter whose verdict is an SQL expression over the columns of the row: null keeps it, a text is the reason it goes.
 * Neighbours fuse into one scan of the file, and nothing of a row is read that no filter looks at.
 */
export interface SqlFilter {
  readonly takes: RowKind
  readonly reason: string
}

/** A session of DuckDB that belongs to one stage; its tables are gone afterwards. */
export interface SqlSession {
  run(sql: string): Promise<void>
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  /** The rows of a query in order, a bounded number at a time. */
  stream(sql: string): AsyncIterable<Readonly<Record<string, unknown>>>
  /** Makes a table of these columns (name to SQL type) and fills it. */
  fill(
    table: string,
    columns: Readonly<Record<string, string>>,
    rows: AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>,
  ): Promise<void>
}

/** One input of a whole-set stage: an SQL view with the columns of its rows, and `row`, the number of the row. */
export interface WholeInput {
  /** The id of the stage that gave it. */
  readonly stage: string
  readonly view: string
  readonly rows: number
}

/**
 * A stage that has to see every row before it can judge the first: dedup, mix, sample. It never moves rows itself; it
 * returns the name of a table or view `(input INTEGER, row BIGINT, position BIGINT, reason VARCHAR, detail VARCHAR,
 * signals VARCHAR)`. A line without a reason puts that row at that position of the output, and may come more than once; `signals`
 * is null, or JSON merged into the row's own. A line with a reason drops the row. A row without a line goes as `not-chosen`.
 */
export interface WholeStage {
  readonly takes: RowKind
  /** Takes the output of every branch above it, not only of the stage right above. */
  readonly many?: boolean
  choose(inputs: readonly WholeInput[], at: StageContext & { readonly sql: SqlSession }): Promise<string>
}

/** Anything that can stand in a recipe. */
// biome-ignore lint/suspicious/noExplicitAny: a table of stages holds rows of every kind; the recipe checks that they fit
export type AnyStage = Stage<any, any> | SqlFilter | WholeStage

/** Whether a stage's output is a row that was dropped. */
export function isDropped(row: unknown): row is Dropped {
  return typeof row === 'object' && row !== null && 'drop' in row && typeof row.drop === 'string'
}
