import { z } from 'zod'
import { UserError } from '../core/errors.ts'
import { nearest } from '../lib/nearest.ts'
import { parseJson } from '../lib/parse-json.ts'
import { utcNow } from '../lib/time.ts'
import type { Database, Queries } from './database.ts'
import { join, raw, type Sql, sql, type Value } from './sql.ts'

/** The kinds of entries that can be changed or removed by name. Trials come and go with their run. */
export const entryKinds = ['dataset', 'model', 'agent', 'benchmark', 'task', 'run'] as const
export type EntryKind = (typeof entryKinds)[number]

/** What a column accepts; `optional` ones can be emptied, and a list means one of its words. */
type Column = 'optional text' | 'optional count' | 'optional json' | 'flag' | readonly string[]

interface Kind {
  readonly table: string
  readonly id: string
  readonly name: string
  /** The column that tells versions of the same name apart. */
  readonly version?: string
  readonly hasUpdated: boolean
  /** The columns that may be changed: neither those that identify an entry nor those that were measured. */
  readonly columns: Readonly<Record<string, Column>>
  /** References to the entry that prevent its removal. */
  readonly users: readonly { readonly what: string; readonly table: string; readonly column: string }[]
  /** Rows that are removed along with the entry. */
  readonly parts: readonly { readonly what: string; readonly table: string; readonly column: string }[]
}

const text = 'optional text'
const kinds: Readonly<Record<EntryKind, Kind>> = {
  dataset: {
    ...{ table: 'datasets', id: 'id', name: 'name', hasUpdated: true, users: [] },
    parts: [{ what: 'sources', table: 'dataset_sources', column: 'dataset_id' }],
    columns: {
      dataset_type: ['tasks', 'SFT', 'RL'],
      generation_status: ['started', 'finished', 'failed'],
      ...{ data_location: text, recipe_name: text, recipe_digest: text, generation_parameters: 'optional json' },
      ...{ hf_commit_hash: text, num_tasks: 'optional count', num_rows: 'optional count' },
      ...{ created_by: text, creation_time: text, is_public: 'flag' },
    },
  },
  model: {
    ...{ table: 'models', id: 'id', name: 'name', hasUpdated: true, parts: [] },
    users: [
      { what: 'runs', table: 'sandbox_jobs', column: 'model_id' },
      { what: 'trials', table: 'sandbox_trial_model_usage', column: 'model_id' },
      { what: 'models that were trained from it', table: 'models', column: 'base_model_id' },
    ],
    columns: {
      training_status: ['external', 'started', 'finished', 'failed'],
      training_type: ['SFT', 'RL', 'null'],
      ...{ training_run: text, training_start: text, training_end: text, training_parameters: 'optional json' },
      ...{ weights_location: text, wandb_link: text, created_by: text, creation_time: text, description: text },
      is_public: 'flag',
    },
  },
  agent: {
    ...{ table: 'agents', id: 'id', name: 'name', version: 'version', hasUpdated: true, parts: [] },
    users: [
      { what: 'runs', table: 'sandbox_jobs', column: 'agent_id' },
      { what: 'models', table: 'models', column: 'agent_id' },
    ],
    columns: { description: text },
  },
  benchmark: {
    ...{ table: 'benchmarks', id: 'id', name: 'name', version: 'version', hasUpdated: true, parts: [] },
    users: [{ what: 'runs', table: 'sandbox_jobs', column: 'benchmark_id' }],
    columns: { external_link: text, description: text, is_external: 'flag', is_public: 'flag' },
  },
  task: {
    ...{ table: 'sandbox_tasks', id: 'checksum', name: 'name', hasUpdated: false, parts: [] },
    users: [{ what: 'trials', table: 'sandbox_trials', column: 'task_checksum' }],
    columns: { source: text, path: text, git_url: text, git_commit_id: text },
  },
  run: {
    ...{ table: 'sandbox_jobs', id: 'id', name: 'job_name', hasUpdated: true, users: [] },
    parts: [{ what: 'trials', table: 'sandbox_trials', column: 'job_id' }],
    columns: { location: text, username: text, hf_traces_link: text, is_public: 'flag' },
  },
}

/** The columns that can be changed in a kind of entry. */
export function changeableColumns(kind: EntryKind): readonly string[] {
  return Object.keys(kinds[kind].columns).sort()
}

/** An entry that was changed or removed. */
export interface Entry {
  readonly kind: EntryKind
  readonly id: string
  readonly name: string
}

/** Changes columns of one entry, all or none. Values are strings; `null` empties a column. */
export async function changeEntry(
  database: Database,
  kind: EntryKind,
  given: string,
  changes: Readonly<Record<string, string>>,
): Promise<Entry> {
  const { table, id, hasUpdated } = kinds[kind]
  const values = Object.entries(changes).map(([column, value]) => [column, parseValue(kind, column, value)] as const)
  const all = hasUpdated ? [...values, ['updated_at', utcNow()] as const] : values
  return database.transaction(async (queries) => {
    const entry = await findEntry(queries, kind, given)
    const set = join(
      all.map(([column, value]) => sql`${raw(column)} = ${value}`),
      ', ',
    )
    await queries.run(sql`UPDATE ${raw(table)} SET ${set} WHERE ${raw(id)} = ${entry.id}`)
    return entry
  })
}

/** Removes one entry and what belongs to it alone; anything others refer to stays. With `dryRun`, removes nothing. */
export async function removeEntry(
  database: Database,
  kind: EntryKind,
  given: string,
  dryRun: boolean,
): Promise<Entry & { readonly parts: Readonly<Record<string, number>> }> {
  const { table, id, users, parts } = kinds[kind]
  return database.transaction(async (queries) => {
    const entry = await findEntry(queries, kind, given)
    for (const { what, table: other, column } of users) {
      const count = await countOf(queries, other, column, entry.id)
      if (count > 0)
        throw new UserError(
          `${kind} ${JSON.stringify(entry.name)} cannot be removed: ${count} ${what} refer to it`,
          'remove those first; registry search finds runs, and registry remove run NAME removes one with its trials',
        )
    }
    const gone: Record<string, number> = {}
    for (const { what, table: other, column } of parts) gone[what] = await countOf(queries, other, column, entry.id)
    if (!dryRun) await queries.run(sql`DELETE FROM ${raw(table)} WHERE ${raw(id)} = ${entry.id}`)
    return { ...entry, parts: gone }
  })
}

async function countOf(queries: Queries, table: string, column: string, id: string): Promise<number> {
  const query = sql`SELECT count(*) AS count FROM ${raw(table)} WHERE ${raw(column)} = ${id}`
  const [row] = await queries.rows(z.object({ count: z.number() }), query)
  return row?.count ?? 0
}

const found = z.object({ id: z.string(), name: z.string(), version: z.string() })

/** Finds the one entry that a name, `NAME@VERSION` or id refers to. */
async function findEntry(queries: Queries, kind: EntryKind, given: string): Promise<Entry> {
  const { table, id, name, version } = kinds[kind]
  const select = (condition: Sql) =>
    queries.rows(
      found,
      sql`SELECT ${raw(id)} AS id, ${raw(name)} AS name, ${version ? raw(version) : sql`''`} AS version
        FROM ${raw(table)} WHERE ${condition} ORDER BY 3, 1 LIMIT 6`,
    )
  const at = given.lastIndexOf('@')
  const exact = sql`${raw(id)} = ${given} OR ${raw(name)} = ${given}`
  const versioned =
    version && at > 0
      ? sql` OR (${raw(name)} = ${given.slice(0, at)} AND ${raw(version)} = ${given.slice(at + 1)})`
      : raw('')
  const entries = await select(sql`${exact}${versioned}`)
  const [only, ...others] = entries.some((one) => one.id === given)
    ? entries.filter((one) => one.id === given)
    : entries
  if (only === undefined)
    throw new UserError(
      `the registry has no ${kind} ${JSON.stringify(given)}`,
      'give the full name; registry search, lineage and sql show names',
    )
  if (others.length > 0)
    throw new UserError(
      `${JSON.stringify(given)} is the name of more than one ${kind}`,
      `use one of these: ${entries.map((one) => (one.version === '' ? one.id : `${one.name}@${one.version}`)).join(', ')}`,
    )
  return { kind, id: only.id, name: only.version === '' ? only.name : `${only.name}@${only.version}` }
}

function parseValue(kind: EntryKind, column: string, value: string): Value {
  const { columns } = kinds[kind]
  const takes = Object.hasOwn(columns, column) ? columns[column] : undefined
  if (takes === undefined) {
    const near = nearest(column, Object.keys(columns))
    throw new UserError(
      `--set ${column}: expected a column of a ${kind} that can be changed`,
      near === null ? `columns that can be changed: ${changeableColumns(kind).join(', ')}` : `did you mean ${near}?`,
    )
  }
  const wrong = (expected: string) =>
    new UserError(
      `--set ${column}: expected ${expected}, got ${JSON.stringify(value.slice(0, 80))}`,
      'correct the value',
    )
  if (typeof takes !== 'string') {
    if (takes.includes(value)) return value === 'null' ? null : value
    throw wrong(`one of ${takes.join(', ')}`)
  }
  if (takes === 'flag') {
    if (value === 'true' || value === 'false') return Number(value === 'true')
    throw wrong('true or false')
  }
  if (value === 'null') return null
  if (takes === 'optional text') return value
  if (takes === 'optional json') {
    if (parseJson(value) !== undefined) return value
    throw wrong('JSON, or null')
  }
  const count = Number(value)
  if (/^\d+$/.test(value) && Number.isSafeInteger(count)) return count
  throw wrong('a whole number, or null')
}
