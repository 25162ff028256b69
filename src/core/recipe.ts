import type { RowKind } from './row.ts'

/** One stage of a recipe: which plug-in, its options, and where its rows come from. */
export interface StageEntry {
  /** Default: the last part of `use`. */
  readonly id?: string | undefined
  /**
   * The path of a stage under src/stages, for example `filters/rollouts/min-turns`, or your own file: `./my-filter.ts`.
   */
  readonly use: string
  readonly with?: Readonly<Record<string, unknown>> | undefined
  /** Default: the stage right above; for a mixer, every branch that ends above it. */
  readonly from?: string | readonly string[] | undefined
}

/** How a dataset is made: a list of stages, plain JSON. */
export interface Recipe {
  readonly name: string
  readonly summary?: string | undefined
  readonly seed?: number | undefined
  readonly stages: readonly StageEntry[]
}

export type StageForm = 'source' | 'stream' | 'sql-filter' | 'whole' | 'sink'

/** A stage with every default filled in. */
export interface ResolvedStage {
  readonly id: string
  readonly use: string
  readonly with: Readonly<Record<string, unknown>>
  readonly from: readonly string[]
  readonly form: StageForm
  readonly takes: RowKind | null
  readonly gives: RowKind
  /** A digest of its code, for a custom stage. */
  readonly code?: string | undefined
}

/** A recipe as it runs: everything besides the code that decides its output. */
export interface RecipeLock {
  readonly schema: 'recipe-lock/1'
  readonly name: string
  readonly seed: number
  /** At most this many rows of each source. */
  readonly limit: number | null
  /** Set when the run tried the recipe on stand-ins. */
  readonly rehearsal?: true | undefined
  readonly stages: readonly ResolvedStage[]
}

/** What one stage did to its rows. */
export interface StageCount {
  readonly id: string
  readonly use: string
  readonly taken: number
  readonly given: number
  readonly drops: Readonly<Record<string, number>>
}
