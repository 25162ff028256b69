import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { nearest } from '../../lib/nearest.ts'
import { decodeRow } from '../../store/rows/columns.ts'
import type { StepOutput } from '../../store/rows/step-dir.ts'
import { rejectsOf, rowsOf, stepsOf } from './lineage.ts'
import type { RecipeReport } from './report.ts'

export interface DroppedAsk {
  readonly stage: string
  /** Only rows that were dropped for this reason. */
  readonly reason: string | null
  readonly offset: number
  readonly limit: number
}

/** A row that a stage dropped. */
export interface DroppedRow {
  /** Null when the stage did not say which row it was. */
  readonly id: string | null
  readonly reason: string
  readonly detail: string | null
  /** The row as of the last step before that had it, without its archive; null when no earlier step has this id. */
  readonly row: Readonly<Record<string, unknown>> | null
  /** The step that has it. */
  readonly step: string | null
}

export interface DroppedRows {
  readonly stage: string
  readonly reasons: Readonly<Record<string, number>>
  /** How many rows match. */
  readonly total: number
  readonly rows: readonly DroppedRow[]
}

/** The rows dropped by one stage of a finished run, with the reasons, in order. */
export async function readDropped(dir: string, report: RecipeReport, ask: DroppedAsk): Promise<DroppedRows> {
  const count = report.stages.find(({ id }) => id === ask.stage)
  if (!count) throw unknownStage(report, ask.stage)
  const steps = await stepsOf(dir, report)
  const at = steps.findIndex(({ manifest }) => manifest.counts.some(({ id }) => id === ask.stage))
  const step = steps[at]
  const nothing = { stage: ask.stage, reasons: count.drops, total: 0, rows: [] }
  if (!step || step.shards.length === 0) return nothing
  await using sql = await SqlDatabase.open({ memoryMb: 512, threads: 2, tempDir: join(dir, 'tmp') })
  const reason = ask.reason === null ? '' : ` AND reason = ${sqlText(ask.reason)}`
  const from = `FROM ${rejectsOf(step)} WHERE stage = ${sqlText(ask.stage)}${reason}`
  const found = await sql.rows(`SELECT id, reason, detail ${from} LIMIT ${ask.limit} OFFSET ${ask.offset}`)
  const ids = found.flatMap(({ id }) => (id === null ? [] : [String(id)]))
  const before = await rowsById(sql, steps.slice(0, at), ids)
  return {
    ...nothing,
    total: await sql.number(`SELECT count(*) ${from}`),
    rows: found.map(({ id, reason: why, detail }) => ({
      id: id === null ? null : String(id),
      reason: String(why),
      detail: detail === null ? null : String(detail),
      ...(before.get(String(id)) ?? { row: null, step: null }),
    })),
  }
}

/** Rows with these ids, each as of the last step that has it. */
async function rowsById(sql: SqlDatabase, steps: readonly StepOutput[], ids: readonly string[]) {
  const found = new Map<string, Pick<DroppedRow, 'row' | 'step'>>()
  for (const step of [...steps].reverse()) {
    const missing = ids.filter((id) => !found.has(id))
    if (missing.length === 0 || step.shards.length === 0) continue
    const { kind, id } = step.manifest
    const columns = kind === 'task' ? '* EXCLUDE (archive)' : '*'
    const rows = await sql.rows(
      `SELECT ${columns} FROM ${rowsOf(step)} WHERE id IN (${[...new Set(missing)].map(sqlText).join(', ')})`,
    )
    for (const record of rows) {
      const { archive: _archive, ...row } = decodeRow(kind, record)
      found.set(String(record.id), { row, step: id })
    }
  }
  return found
}

function unknownStage({ stages }: RecipeReport, asked: string): UserError {
  const ids = stages.map(({ id }) => id)
  const near = nearest(asked, ids)
  return new UserError(
    `this run has no stage ${JSON.stringify(asked)}`,
    near === null ? `its stages: ${ids.join(', ')}` : `did you mean ${near}?`,
  )
}
