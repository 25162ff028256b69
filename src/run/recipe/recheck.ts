import { BoundaryError } from '../../core/errors.ts'
import { isDropped, type Stage, type WholeStage } from '../../core/stage.ts'
import { sqlText } from '../../lib/duckdb.ts'
import { decodeRow } from '../../store/rows/columns.ts'
import type { StepOutput } from '../../store/rows/step-dir.ts'
import type { LiveStage } from './resolve.ts'
import { closeViews, openViews } from './run-whole.ts'
import type { StepContext } from './step-run.ts'

/** Applies every filter the recipe states once more to the rows it hands out. A row that one of them would drop ends the run. */
export async function recheck(
  at: StepContext,
  stages: readonly LiveStage[],
  inputs: readonly StepOutput[],
): Promise<void> {
  for (const input of inputs)
    for (const live of stages) {
      if (live.takes !== input.manifest.kind || live.gives !== live.takes) continue
      const leak = await leakOf(at, live, input)
      if (leak !== null)
        throw new BoundaryError(
          'store',
          `stage ${live.id}: row ${leak.id} of the result is one that it drops (${leak.reason})`,
          { code: 'FilterLeak', retryable: false },
        )
    }
}

type Leak = { readonly id: string; readonly reason: string }

async function leakOf(at: StepContext, live: LiveStage, input: StepOutput): Promise<Leak | null> {
  if ('reason' in live.stage) return sqlLeak(at, live.stage.reason, input)
  if ('run' in live.stage && live.stage.filter) return streamLeak(at, live, live.stage, input)
  if ('choose' in live.stage && live.stage.filter) return wholeLeak(at, live, live.stage, input)
  return null
}

async function wholeLeak(at: StepContext, live: LiveStage, stage: WholeStage, input: StepOutput): Promise<Leak | null> {
  const { sql } = at
  const views = await openViews(sql, [input])
  try {
    const table = await stage.choose(views, { ...at.contextOf(live), sql })
    const [row] = await sql.rows(
      `SELECT v.id, c.reason FROM ${table} c JOIN ${views[0]?.view} v ON v.row = c.row WHERE c.reason IS NOT NULL LIMIT 1`,
    )
    return row ? { id: String(row.id), reason: String(row.reason) } : null
  } finally {
    await closeViews(sql, views)
  }
}

async function sqlLeak({ sql }: StepContext, reason: string, { shards }: StepOutput): Promise<Leak | null> {
  const files = `[${shards.map(({ part }) => sqlText(part)).join(', ')}]`
  const [row] = await sql.rows(
    `SELECT id, (${reason}) AS reason FROM read_parquet(${files}) WHERE (${reason}) IS NOT NULL LIMIT 1`,
  )
  return row ? { id: String(row.id), reason: String(row.reason) } : null
}

async function streamLeak(at: StepContext, live: LiveStage, stage: Stage, input: StepOutput): Promise<Leak | null> {
  for await (const row of stage.run(allRows(at, input), at.contextOf(live)))
    if (isDropped(row)) return { id: row.id ?? 'unknown', reason: row.drop }
  return null
}

async function* allRows({ sql }: StepContext, { shards, manifest }: StepOutput): AsyncIterable<object> {
  for (const { part } of shards)
    for await (const record of sql.stream(`SELECT * FROM read_parquet(${sqlText(part)})`))
      yield decodeRow(manifest.kind, record)
}
