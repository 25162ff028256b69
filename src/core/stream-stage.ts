import { UserError } from './errors.ts'
import type { AnyStage, Dropped, RowFilter, StageContext } from './stage.ts'

/** Runs rows through a stage that works row by row; a source takes none. */
export function streamOf(stage: AnyStage, rows: AsyncIterable<unknown>, at: StageContext): AsyncIterable<unknown> {
  if (stage.kind === 'source') return stage.rows(at)
  if (stage.kind === 'map') return stage.run(rows, at)
  if (stage.kind === 'filter') return keptBy(stage, rows, at)
  throw new Error(`a ${stage.kind} does not run row by row`)
}

async function* keptBy(filter: RowFilter, rows: AsyncIterable<unknown>, at: StageContext): AsyncIterable<unknown> {
  for await (const row of rows) {
    const verdict = filter.keep(row, at)
    yield droppedBy(verdict instanceof Promise ? await verdict : verdict, row) ?? row
  }
}

/** The row as dropped, or null when the verdict keeps it. */
function droppedBy(verdict: unknown, row: unknown): Dropped | null {
  if (verdict === true) return null
  const { reason, detail } = isVerdict(verdict) ? verdict : { reason: verdict === false ? 'not-kept' : verdict }
  if (typeof reason !== 'string' || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(reason))
    throw new UserError(
      `keep() returned ${JSON.stringify(reason) ?? 'undefined'}, expected true or the reason to drop the row`,
      "a reason is a short word such as 'too-long': lower-case letters, digits and dashes",
    )
  const { id } = Object(row)
  return {
    drop: reason,
    ...(detail !== undefined && { detail: String(detail) }),
    ...(typeof id === 'string' && { id }),
  }
}

function isVerdict(value: unknown): value is { readonly reason: unknown; readonly detail?: unknown } {
  return typeof value === 'object' && value !== null && 'reason' in value
}
