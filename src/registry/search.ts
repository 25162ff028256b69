import { z } from 'zod'
import type { Queries } from './database.ts'
import { type Sql, sql, where } from './sql.ts'

/** Selects runs. Text matches any part of a name, ignoring case. */
export interface RunFilter {
  /** Each word must occur in the name of the job, model, agent or benchmark. */
  readonly words?: readonly string[] | undefined
  /** Leaves out runs with any of these words in any of those names. */
  readonly exclude?: readonly string[] | undefined
  readonly model?: string | undefined
  /** The exact, full name of a model. */
  readonly modelName?: string | undefined
  readonly benchmark?: string | undefined
  readonly agent?: string | undefined
  readonly status?: 'started' | 'partial' | 'finished' | undefined
  readonly limit?: number | undefined
}

const count = z.number().nullable()
const foundRun = z.object({
  job_id: z.string(),
  job_name: z.string(),
  job_status: z.enum(['started', 'partial', 'finished']),
  model_id: z.string().nullable(),
  model_name: z.string().nullable(),
  agent_name: z.string(),
  agent_version: z.string(),
  benchmark_name: z.string(),
  benchmark_version: z.string(),
  accuracy: z.number().nullable(),
  accuracy_stderr: z.number().nullable(),
  accuracy_all: z.number().nullable(),
  n_tasks: count,
  n_trials: count,
  n_scored: count,
  n_failed: count,
  cost_usd: z.number().nullable(),
  started_at: z.string(),
  location: z.string().nullable(),
  hf_traces_link: z.string().nullable(),
})

/** A run as search results show it. */
export type FoundRun = Readonly<z.output<typeof foundRun>>

const columns = sql`j.id AS job_id, j.job_name, j.job_status, j.model_id, m.name AS model_name, a.name AS agent_name,
    a.version AS agent_version, b.name AS benchmark_name, b.version AS benchmark_version, j.accuracy, j.accuracy_stderr,
    j.accuracy_all, j.n_tasks, j.n_trials, j.n_scored, j.n_failed, j.cost_usd, j.started_at, j.location,
    j.hf_traces_link`
const parents = sql`JOIN agents a ON a.id = j.agent_id JOIN benchmarks b ON b.id = j.benchmark_id
  LEFT JOIN models m ON m.id = j.model_id`

/** The newest runs that match. */
export async function searchRuns(queries: Queries, filter: RunFilter): Promise<FoundRun[]> {
  const { benchmark, status, limit } = filter
  const conditions = conditionsOf(filter)
  if (benchmark !== undefined) conditions.push(like('b.name', benchmark))
  if (status !== undefined) conditions.push(sql`j.job_status = ${status}`)
  const cut = limit === undefined ? sql`` : sql`LIMIT ${limit}`
  return queries.rows(
    foundRun,
    sql`SELECT ${columns} FROM sandbox_jobs j ${parents} ${where(conditions)} ORDER BY j.started_at DESC, j.id ${cut}`,
  )
}

/** The filters shared by every view of the runs. */
type NameFilter = Pick<RunFilter, 'words' | 'exclude' | 'model' | 'modelName' | 'agent'>

function conditionsOf({ words = [], exclude = [], model, modelName, agent }: NameFilter): Sql[] {
  return [
    ...(modelName === undefined ? [] : [sql`m.name = ${modelName}`]),
    ...words.map((word) => sql`(${anyName(word)})`),
    ...exclude.map((word) => sql`NOT (${anyName(word)})`),
    ...(model === undefined ? [] : [like('m.name', model)]),
    ...(agent === undefined ? [] : [like('a.name', agent)]),
  ]
}

function anyName(part: string): Sql {
  return sql`${like('j.job_name', part)} OR ${like('m.name', part)} OR ${like('b.name', part)} OR ${like('a.name', part)}`
}

const names = {
  'j.job_name': sql`j.job_name`,
  'm.name': sql`coalesce(m.name, '')`,
  'b.name': sql`b.name`,
  'a.name': sql`a.name`,
}

/** SQLite ignores case for ASCII letters only, so text with other letters is also matched exactly as written. */
function like(column: keyof typeof names, part: string): Sql {
  const patternOf = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`
  return sql`(lower(${names[column]}) LIKE ${patternOf(part.toLowerCase())} ESCAPE '\\'
    OR ${names[column]} LIKE ${patternOf(part)} ESCAPE '\\')`
}

const leader = foundRun.extend({ runs: z.number() })
/** The newest finished run of an agent with a model on a benchmark, and the number of finished runs. */
export type Leader = Readonly<z.output<typeof leader>>

/**
 * One row for each model, agent and benchmark with a finished run, best first. Reads run results only, never trials.
 */
export async function leaderboard(
  queries: Queries,
  filter: NameFilter & { readonly benchmark?: string | undefined } = {},
): Promise<Leader[]> {
  const { benchmark } = filter
  const conditions = [sql`newest.nth = 1`, ...conditionsOf(filter)]
  if (benchmark !== undefined) conditions.push(sql`b.name = ${benchmark}`)
  const found = await queries.rows(
    leader,
    sql`SELECT ${columns}, newest.runs FROM (
      SELECT id, count(*) OVER same AS runs, row_number() OVER (same ORDER BY started_at DESC, id) AS nth
      FROM sandbox_jobs WHERE job_status = 'finished' AND accuracy IS NOT NULL
      WINDOW same AS (PARTITION BY benchmark_id, model_id, agent_id)
    ) newest JOIN sandbox_jobs j ON j.id = newest.id ${parents} ${where(conditions)}`,
  )
  return found.sort((a, b) => order(a, b))
}

function order(a: Leader, b: Leader): number {
  const key = (run: Leader) => `${run.benchmark_name}\0${run.benchmark_version}`
  if (key(a) !== key(b)) return key(a) < key(b) ? -1 : 1
  return (b.accuracy ?? 0) - (a.accuracy ?? 0) || (a.job_id < b.job_id ? -1 : 1)
}

const summary = z.object({
  model_name: z.string().nullable(),
  agent_name: z.string(),
  benchmark_name: z.string(),
  num_runs: z.number(),
  avg_accuracy: z.number().nullable(),
  max_accuracy: z.number().nullable(),
  min_accuracy: z.number().nullable(),
  avg_std: z.number().nullable(),
})
export type RunSummary = Readonly<z.output<typeof summary>>

/** Aggregates all finished runs of each model, agent and benchmark. */
export async function summarizeRuns(queries: Queries, filter: RunFilter): Promise<RunSummary[]> {
  const found = await searchRuns(queries, { ...filter, status: 'finished', limit: undefined })
  const groups = new Map<string, FoundRun[]>()
  for (const run of found) {
    const key = JSON.stringify([run.benchmark_name, run.model_name, run.agent_name])
    const group = groups.get(key)
    if (group) group.push(run)
    else groups.set(key, [run])
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, group]) => summaryOf(group))
}

function summaryOf(group: readonly FoundRun[]): RunSummary[] {
  const [first] = group
  if (first === undefined) return []
  const accuracies = group.flatMap(({ accuracy }) => accuracy ?? [])
  const errors = group.flatMap(({ accuracy_stderr }) => accuracy_stderr ?? [])
  const mean = (values: readonly number[]) =>
    values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
  return [
    {
      model_name: first.model_name,
      agent_name: first.agent_name,
      benchmark_name: first.benchmark_name,
      num_runs: group.length,
      avg_accuracy: mean(accuracies),
      max_accuracy: accuracies.length === 0 ? null : accuracies.reduce((most, value) => Math.max(most, value)),
      min_accuracy: accuracies.length === 0 ? null : accuracies.reduce((least, value) => Math.min(least, value)),
      avg_std: mean(errors),
    },
  ]
}

/** Models by benchmarks. A cell is the newest finished run, or null. */
export interface Matrix {
  readonly benchmarks: readonly string[]
  readonly models: readonly { readonly name: string; readonly cells: readonly (Leader | null)[] }[]
}

/** The leaderboard as a table. A model used by two agents has a row for each. */
export async function resultMatrix(queries: Queries, filter: Parameters<typeof leaderboard>[1] = {}): Promise<Matrix> {
  const leaders = await leaderboard(queries, filter)
  const column = (run: Leader) =>
    run.benchmark_version === '' ? run.benchmark_name : `${run.benchmark_name}@${run.benchmark_version}`
  const line = (run: Leader) => `${run.model_name ?? 'no model'} (${run.agent_name})`
  const benchmarks = [...new Set(leaders.map(column))].sort()
  const byCell = new Map<string, Leader>()
  for (const run of leaders) {
    const key = JSON.stringify([line(run), column(run)])
    // Versions of an agent share a row, which shows the newest run.
    if ((byCell.get(key)?.started_at ?? '') < run.started_at) byCell.set(key, run)
  }
  const models = [...new Set(leaders.map(line))].sort().map((name) => ({
    name,
    cells: benchmarks.map((benchmark) => byCell.get(JSON.stringify([name, benchmark])) ?? null),
  }))
  return { benchmarks, models }
}
