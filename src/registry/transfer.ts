import { z } from 'zod'
import { UserError } from '../core/errors.ts'
import { batchRows, type Insert, type Queries, type Row, type Snapshot } from './database.ts'
import { join, raw, sql, type Value } from './sql.ts'

/** The columns of every exported table, with parents before the rows that refer to them. */
const exported: Readonly<Record<string, readonly string[]>> = {
  datasets: [
    ...['id', 'name', 'dataset_type', 'generation_status', 'data_location', 'recipe_name', 'recipe_digest'],
    ...['data_generation_hash', 'generation_parameters', 'hf_commit_hash', 'num_tasks', 'num_rows', 'created_by'],
    ...['creation_time', 'is_public', 'updated_at'],
  ],
  agents: ['id', 'name', 'version', 'description', 'updated_at'],
  models: [
    ...[
      'id',
      'name',
      'base_model_id',
      'agent_id',
      'training_status',
      'training_type',
      'training_run',
      'training_start',
    ],
    ...['training_end', 'training_parameters', 'weights_location', 'wandb_link', 'created_by', 'creation_time'],
    ...['description', 'is_public', 'updated_at'],
  ],
  model_datasets: ['model_id', 'dataset_name', 'position'],
  benchmarks: ['id', 'name', 'version', 'is_external', 'external_link', 'description', 'is_public', 'updated_at'],
  sandbox_tasks: ['checksum', 'name', 'source', 'digest', 'path', 'git_url', 'git_commit_id', 'created_at'],
  sandbox_benchmark_tasks: ['benchmark_id', 'task_checksum'],
  dataset_sources: ['dataset_id', 'kind', 'name'],
  sandbox_jobs: [
    ...['id', 'source_id', 'job_name', 'job_status', 'agent_id', 'model_id', 'benchmark_id', 'location', 'username'],
    ...['package_version', 'config', 'hf_traces_link', 'n_expected', 'n_attempts', 'n_tasks', 'n_trials', 'n_scored'],
    ...['n_failed', 'n_cancelled', 'accuracy', 'accuracy_stderr', 'accuracy_all', 'cost_usd', 'started_at', 'ended_at'],
    ...['is_public', 'created_at', 'updated_at'],
  ],
  sandbox_trials: [
    ...['job_id', 'id', 'trial_name', 'task_checksum', 'attempt', 'state', 'reward', 'rewards', 'agent_exit'],
    ...['boundary', 'exception_type', 'exception_message', 'retries', 'started_at', 'ended_at'],
    ...['environment_setup_started_at', 'environment_setup_ended_at', 'agent_setup_started_at', 'agent_setup_ended_at'],
    ...['agent_execution_started_at', 'agent_execution_ended_at', 'verifier_started_at', 'verifier_ended_at'],
    ...['superseded_at', 'created_at'],
  ],
  sandbox_trial_model_usage: [
    ...['job_id', 'trial_id', 'model_id', 'model_provider', 'n_input_tokens', 'n_cache_tokens', 'n_output_tokens'],
    ...['cost_usd', 'created_at'],
  ],
}

export const tableNames: readonly string[] = Object.keys(exported)

const exportSchema = 'registry-export/1'

/** Yields every row of the registry as JSON lines, in an order that can be imported. */
export async function* exportLines(snapshot: Snapshot): AsyncGenerator<string, void, void> {
  yield JSON.stringify({ schema: exportSchema })
  for (const [table, columns] of Object.entries(exported)) {
    for await (const rows of snapshot.batches(raw(`SELECT ${columns.join(', ')} FROM ${table}`)))
      for (const row of rows) yield JSON.stringify({ table, row: columns.map((column) => row[column] ?? null) })
  }
}

const value = z.union([z.string(), z.number(), z.null()])
const lineSchema = z.strictObject({ table: z.string(), row: z.array(value) })

export interface ImportCount {
  readonly read: number
  readonly added: number
}

/**
 * On import, a row in an earlier state is replaced by one in a later state, in this order. Between equal states, the
 * later row wins.
 */
const states: Readonly<Record<string, readonly [column: string, ...ranks: readonly (readonly string[])[]]>> = {
  models: ['training_status', ['external'], ['started', 'finished', 'failed']],
  sandbox_jobs: ['job_status', ['started'], ['partial'], ['finished']],
}

/** Adds the rows of an export that are missing here: all of them, or none if a line is invalid. */
export async function importLines(queries: Queries, lines: AsyncIterable<unknown>, path: string): Promise<ImportCount> {
  const wrong = (why: string) => new UserError(`${path}: ${why}`, 'registry export writes files that import reads')
  let [lineNumber, added] = [0, 0]
  let table = ''
  let rows: Value[][] = []
  const bases: [model: Value, base: Value][] = []
  const flush = async () => {
    const columns = exported[table]
    if (columns && rows.length > 0) added += await addRows(queries, { table, columns, rows })
    rows = []
  }
  for await (const line of lines) {
    if (++lineNumber === 1) {
      if (headSchema.safeParse(line).success) continue
      throw wrong(`expected the first line to say ${exportSchema}`)
    }
    const parsed = lineSchema.safeParse(line)
    const columns =
      parsed.success && Object.hasOwn(exported, parsed.data.table) ? exported[parsed.data.table] : undefined
    if (!parsed.success || columns === undefined || parsed.data.row.length !== columns.length)
      throw wrong(`line ${lineNumber} is not a row of a table of the registry`)
    if (parsed.data.table !== table || rows.length >= batchRows) await flush()
    table = parsed.data.table
    rows.push(table === 'models' ? withoutBase(parsed.data.row, columns, bases) : parsed.data.row)
  }
  if (lineNumber === 0) throw wrong('expected an export, got an empty file')
  await flush()
  for (const [id, base] of bases)
    await queries.run(sql`UPDATE models SET base_model_id = ${base} WHERE id = ${id} AND base_model_id IS NULL`)
  return { read: lineNumber - 1, added }
}

const headSchema = z.object({ schema: z.literal(exportSchema) })

async function addRows(queries: Queries, insert: Insert): Promise<number> {
  const added = await queries.insert(insert)
  if (added === insert.rows.length) return added
  const { table, columns, rows } = insert
  const at = (row: readonly Value[], column: string) => row[columns.indexOf(column)] ?? null
  for (const row of rows) {
    if (table === 'sandbox_trials' && at(row, 'superseded_at') !== null)
      await queries.run(sql`UPDATE sandbox_trials SET superseded_at = ${at(row, 'superseded_at')}
        WHERE job_id = ${at(row, 'job_id')} AND id = ${at(row, 'id')} AND superseded_at IS NULL`)
    const [column, ...ranks] = states[table] ?? []
    if (column === undefined) continue
    const rank = ranks.findIndex((each) => each.includes(String(at(row, column))))
    if (rank < 0) continue
    const isIn = (list: readonly string[]) => {
      const known = list.map((state) => sql`${state}`)
      return sql`${raw(column)} IN (${join(known, ', ')})`
    }
    const older = sql`(${isIn(ranks[rank] ?? [])} AND updated_at < ${at(row, 'updated_at')})`
    const weaker = ranks.slice(0, rank).flat()
    const fits = weaker.length === 0 ? older : sql`(${isIn(weaker)} OR ${older})`
    const values = columns.map((name, i) => sql`${raw(name)} = ${row[i] ?? null}`).filter((_, i) => columns[i] !== 'id')
    await queries.run(sql`UPDATE ${raw(table)} SET ${join(values, ', ')} WHERE id = ${at(row, 'id')} AND ${fits}`)
  }
  return added
}

/** A model can precede its base model in the export, so the reference is set once all rows are in. */
function withoutBase(row: Value[], columns: readonly string[], bases: [Value, Value][]): Value[] {
  const at = columns.indexOf('base_model_id')
  if (row[at] != null) bases.push([row[columns.indexOf('id')] ?? null, row[at] ?? null])
  return row.map((one, i) => (i === at ? null : one))
}

/** Renders a CSV row (RFC 4180). A cell that a spreadsheet would run as a formula gets a leading apostrophe. */
export function csvLine(cells: readonly unknown[]): string {
  const text = (cell: unknown) => {
    const shown = cell === null || cell === undefined ? '' : String(cell)
    const safe = typeof cell === 'string' && /^[=+\-@\t\r]/.test(shown) ? `'${shown}` : shown
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  }
  return `${cells.map(text).join(',')}\n`
}

/** Yields a table as CSV, starting with a header row. */
export async function* csvOf(snapshot: Snapshot, table: string): AsyncGenerator<string, void, void> {
  const columns = exported[table]
  if (columns === undefined)
    throw new UserError(`unknown table ${JSON.stringify(table)}`, `known: ${tableNames.join(', ')}`)
  yield csvLine(columns)
  for await (const rows of snapshot.batches(raw(`SELECT ${columns.join(', ')} FROM ${table}`)))
    yield rows.map((row: Row) => csvLine(columns.map((column) => row[column]))).join('')
}
