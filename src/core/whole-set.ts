import type { ResolvedStage, StageCount } from './recipe.ts'
import type { ReplayResult } from './replay.ts'

/** A session of DuckDB that belongs to one stage; its tables are gone afterwards. */
export interface SqlSession {
  run(sql: string): Promise<void>
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  /** The rows of a query in order, some at a time, each there only while it is looked at; fails if there are fewer. */
  batches(sql: string, count: number): AsyncIterable<Iterable<Readonly<Record<string, unknown>>>>
  /** Makes a table of these columns (name to SQL type) and fills it. */
  fill(
    table: string,
    columns: Readonly<Record<string, string>>,
    rows: AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>,
  ): Promise<void>
}

/** One input of a whole-set stage: an SQL view with the columns of its rows, and `row`, a number that grows from row to row and may skip some. */
export interface WholeInput {
  /** The id of the stage that gave it. */
  readonly stage: string
  readonly view: string
  readonly rows: number
}

/** The input of a sink, which may read it part by part. */
export interface SinkInput extends WholeInput {
  /** Queries that give the rows of the view, one part after the other. */
  readonly parts: readonly { readonly select: string; readonly rows: number }[]
}

/** What became of the rows up to here: to tell readers of a dataset how it was made. */
export interface MadeSoFar {
  readonly recipe: string
  /** True when the rows come from stand-ins: nothing to train on. */
  readonly rehearsal?: boolean | undefined
  readonly seed: number
  /** Rows of each source among those that are handed out, largest first. */
  readonly sources: Readonly<Record<string, number>>
  /** What the replay of a sample of the rows came to; null when none was replayed. */
  readonly replay?: ReplayResult | null
  /** With what each did, and what it found out with these very rows; null when it kept nothing. */
  readonly stages: readonly (ResolvedStage & { readonly count: StageCount | null; readonly result: unknown })[]
}

/** What a sink wrote, for the summary: counts by name, and the files a reader opens first. */
export interface SinkReport {
  readonly counts: Readonly<Record<string, number>>
  readonly files: readonly string[]
}
