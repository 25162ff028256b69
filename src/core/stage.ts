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
 * Rows in, rows out, in order. Row-by-row stages stream; a `whole` stage has to see every row before it gives the first.
 * A stage that fails for one row drops that row with a reason; it throws only when no later row could do better.
 */
export interface Stage<In = unknown, Out = unknown> {
  /** Null for a source, which takes nothing. */
  readonly takes: RowKind | null
  readonly gives: RowKind
  readonly whole?: boolean
  run(rows: AsyncIterable<In>, at: StageContext): AsyncIterable<Out | Dropped>
}

/** Whether a stage's output is a row that was dropped. */
export function isDropped(row: unknown): row is Dropped {
  return typeof row === 'object' && row !== null && 'drop' in row && typeof row.drop === 'string'
}
