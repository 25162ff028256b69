/** What a stage would do and cost, estimated before it runs. Null: unknown. */
export interface Expectation {
  /** Rows it would produce. */
  readonly rows: number | null
  readonly rollouts?: number | null
  readonly modelCalls?: number | null
  readonly tokens?: number | null
  readonly costUsd?: number | null
  readonly hours?: number | null
  /** What the numbers are based on. */
  readonly assumes?: readonly string[]
}

/** A run on stand-ins: what would reach outside uses a bundled substitute instead, and reports it. */
export interface Rehearsal {
  /** Reports what took the place of the real thing. */
  substituted(what: string): void
  /** Reports what this run could not try. */
  notExercised(what: string): void
}
