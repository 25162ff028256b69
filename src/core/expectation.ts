/** What a stage would do and cost, estimated before it runs. Null: unknown. */
export interface Expectation {
  /** Rows it would give. */
  readonly rows: number | null
  readonly rollouts?: number | null
  readonly modelCalls?: number | null
  readonly tokens?: number | null
  readonly costUsd?: number | null
  readonly hours?: number | null
  /** What the numbers rest on. */
  readonly assumes?: readonly string[]
}

/** A run on stand-ins: what reaches outside uses what comes with it instead, and says so. */
export interface Rehearsal {
  /** What took the place of the real thing. */
  substituted(what: string): void
  /** What this run could not try. */
  notExercised(what: string): void
}
