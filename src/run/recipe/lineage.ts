import { join } from 'node:path'
import type { TaskRow } from '../../core/row.ts'
import { SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { decodeRow } from '../../store/rows/columns.ts'
import { selectAllRows } from '../../store/rows/shard-sql.ts'
import { peekStep, type StepOutput } from '../../store/rows/step-dir.ts'
import type { RecipeReport } from './report.ts'

/** Where a row is in one step: among its rows or among its rejects. */
export type Sighting =
  | { readonly step: string; readonly kept: true; readonly row: Readonly<Record<string, unknown>> }
  | {
      readonly step: string
      readonly kept: false
      readonly stage: string
      readonly reason: string
      readonly detail: string | null
    }

/** The path of one row through a recipe. */
export interface RowLineage {
  readonly id: string
  /** From the source to where it ended. */
  readonly way: readonly Sighting[]
  /** Ids of rows further down that were made from it, if it is still there at the end: tasks of a source row, traces of a task. */
  readonly made: readonly string[]
  /** The task it was made from, as of the last step before its rollout; for a task, the task itself. */
  readonly task: TaskRow | null
}

/** Follows a row, by its id or its trial's name, through every step of a finished run, and back to its task and source row. */
export async function traceLineage(dir: string, report: RecipeReport, id: string): Promise<RowLineage | null> {
  await using sql = await SqlDatabase.open({ memoryMb: 512, threads: 2, tempDir: join(dir, 'tmp') })
  const steps = await stepsOf(dir, report)
  const own = await followRow(sql, steps, id)
  const last = own.findLast((sighting) => sighting.kept)
  if (own.length === 0) return null
  const digest = last?.kept ? (last.row.task_digest ?? last.row.digest) : null
  const task = typeof digest === 'string' ? await findTask(sql, steps, digest) : null
  const attempt = last?.kept ? Object(last.row.signals).attempt : undefined
  const before = task && task.id !== last?.row.id ? await followRow(sql, steps, task.id, attempt) : []
  const made = last === own.at(-1) && last?.kept ? await madeFrom(sql, steps, last) : []
  return { id, way: [...before, ...own], made, task }
}

/** The steps of a finished run, in order. */
export async function stepsOf(dir: string, report: RecipeReport): Promise<readonly StepOutput[]> {
  const steps = await Promise.all(report.steps.map((step) => peekStep(join(dir, step.dir))))
  return steps.filter((step) => step !== null)
}

/** A rolled-out task has one row per attempt; picks the requested one. */
async function followRow(
  sql: SqlDatabase,
  steps: readonly StepOutput[],
  name: string,
  attempt?: unknown,
): Promise<Sighting[]> {
  const way: Sighting[] = []
  let id = name
  for (const step of steps) {
    const [kept] = await sql.rows(
      `SELECT * FROM ${rowsOf(step)} WHERE ${namedBy(step, id)} ${attemptFirst(step, attempt)} LIMIT 1`,
    )
    if (kept) way.push({ step: step.manifest.id, kept: true, row: decodeRow(step.manifest.kind, kept) })
    // Rejects are identified by id alone, not by the trial's name.
    if (kept) id = String(kept.id)
    const rejects = await sql.rows(`SELECT * FROM ${rejectsOf(step)} WHERE id = ${sqlText(id)}`)
    for (const { stage, reason, detail } of rejects)
      way.push({
        step: step.manifest.id,
        kept: false,
        stage: String(stage),
        reason: String(reason),
        detail: detail === null ? null : String(detail),
      })
  }
  return way
}

/** What the steps below made from a row: from a row of a source its tasks, from a task its traces. */
async function madeFrom(
  sql: SqlDatabase,
  steps: readonly StepOutput[],
  { step, row }: Sighting & { readonly kept: true },
): Promise<string[]> {
  const kinds = { raw: 'task', task: 'trace', trace: null } as const
  const kind = kinds[steps.find(({ manifest }) => manifest.id === step)?.manifest.kind ?? 'trace']
  const from =
    kind === 'task'
      ? `json_extract_string(lineage, '$.rowId') = ${sqlText(String(row.id))}`
      : `task_digest = ${sqlText(String(row.digest))}`
  const ids = new Set<string>()
  for (const below of steps.filter(({ manifest }) => manifest.kind === kind))
    for (const { id } of await sql.rows(`SELECT DISTINCT id FROM ${rowsOf(below)} WHERE ${from} ORDER BY id`))
      ids.add(String(id))
  return [...ids]
}

/** The tasks with these digests, each as of the last step that has it. */
export async function tasksByDigest(
  sql: SqlDatabase,
  steps: readonly StepOutput[],
  digests: readonly string[],
): Promise<ReadonlyMap<string, TaskRow>> {
  const found = new Map<string, TaskRow>()
  for (const digest of digests) {
    const task = await findTask(sql, steps, digest)
    if (task) found.set(digest, task)
  }
  return found
}

async function findTask(sql: SqlDatabase, steps: readonly StepOutput[], digest: string): Promise<TaskRow | null> {
  for (const step of steps.filter(({ manifest }) => manifest.kind === 'task').reverse()) {
    const [found] = await sql.rows(`SELECT * FROM ${rowsOf(step)} WHERE digest = ${sqlText(digest)} LIMIT 1`)
    if (found) return decodeRow('task', found) as unknown as TaskRow
  }
  return null
}

const namesOf = { raw: ['id'], task: ['id', 'name'], trace: ['id', 'trial_name'] }

function namedBy({ manifest }: StepOutput, id: string): string {
  const names = namesOf[manifest.kind]
  return names.map((name) => `${name} = ${sqlText(id)}`).join(' OR ')
}

function attemptFirst({ manifest }: StepOutput, attempt: unknown): string {
  if (typeof attempt !== 'number' || manifest.kind === 'raw') return ''
  return `ORDER BY json_extract_string(signals, '$.attempt') = '${attempt}' DESC NULLS LAST`
}

/** The rows of a step as a parenthesized query. */
export function rowsOf({ shards }: StepOutput): string {
  return `(${selectAllRows(shards)})`
}

/** What a step dropped: id, stage, reason and detail. */
export function rejectsOf({ shards }: StepOutput): string {
  return `read_parquet([${shards.map(({ rejects }) => sqlText(rejects)).join(', ')}])`
}
