import type { ResolvedStage, StageCount } from './recipe.ts'
import type { ReplayResult } from './replay.ts'

/** A DuckDB session that belongs to one stage; its tables are gone afterwards. */
export interface SqlSession {
  run(sql: string): Promise<void>
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  /**
   * The `count` rows of a query in order, in batches, each valid only while it is iterated; fails if there are fewer.
   */
  batches(sql: string, count: number): AsyncIterable<Iterable<Readonly<Record<string, unknown>>>>
  /** Creates a table with these columns (name to SQL type) and fills it. */
  fill(
    table: string,
    columns: Readonly<Record<string, string>>,
    rows: AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>,
  ): Promise<void>
}

/**
 * One input of a whole-set stage: an SQL view with the columns of its rows, and `row`, a number that grows from row to
 * row, possibly with gaps.
 */
export interface WholeInput {
  /** The id of the stage that produced it. */
  readonly stage: string
  readonly view: string
  readonly rows: number
}

/** The input of a sink, which may read it part by part. */
export interface SinkInput extends WholeInput {
  /** Queries that give the rows of the view, one part after another. */
  readonly parts: readonly { readonly select: string; readonly rows: number }[]
}

/** What happened to the rows so far, to tell readers of a dataset how it was made. */
export interface MadeSoFar {
  readonly recipe: string
  /** True when the rows come from stand-ins: nothing to train on. */
  readonly rehearsal?: boolean | undefined
  readonly seed: number
  /** Rows per source among the final rows, largest first. */
  readonly sources: Readonly<Record<string, number>>
  /** The outcome of replaying a sample of the rows; null when none was replayed. */
  readonly replay?: ReplayResult | null
  /** What each stage did, and what it found out with exactly these rows; null when it kept nothing. */
  readonly stages: readonly (ResolvedStage & { readonly count: StageCount | null; readonly result: unknown })[]
}

/** What a sink wrote, for the summary: counts by name, and the files a reader opens first. */
export interface SinkReport {
  readonly counts: Readonly<Record<string, number>>
  readonly files: readonly string[]
}
