import { z } from 'zod'
import type { Ancestor } from '../core/view-board.ts'
import type { Queries } from './database.ts'
import { sql } from './sql.ts'

const depthLimit = 32
const shownSources = 5
const text = z.string().nullable()
const modelRow = z.object({
  id: z.string(),
  name: z.string(),
  base: text,
  training_run: text,
  training_status: z.string(),
  training_type: text,
  training_start: text,
  training_end: text,
  weights_location: text,
  wandb_link: text,
})
const datasetRow = z.object({
  id: z.string(),
  name: z.string(),
  data_location: text,
  recipe_name: text,
  recipe_digest: text,
  num_tasks: z.number().nullable(),
  num_rows: z.number().nullable(),
})

/** Traces a model or dataset back to its datasets, recipes, tasks and base models; null if the name is unknown. */
export async function lineageOf(queries: Queries, name: string): Promise<Ancestor | null> {
  const model = await modelAncestor(queries, name, { depth: 0, shown: new Set() })
  if (model.registered) return model
  const dataset = await datasetAncestor(queries, name, { depth: 0, shown: new Set() })
  return dataset.registered ? dataset : null
}

/**
 * The state of a walk through ancestors. Each name is followed only once; otherwise the walk would grow with the number
 * of paths to it.
 */
interface Walk {
  readonly depth: number
  readonly shown: Set<string>
}

async function modelAncestor(queries: Queries, name: string, { depth, shown }: Walk): Promise<Ancestor> {
  const [row] = await queries.rows(
    modelRow,
    sql`SELECT m.id, m.name, b.name AS base, m.training_run, m.training_status, m.training_type, m.training_start, m.training_end,
        m.weights_location, m.wandb_link
      FROM models m LEFT JOIN models b ON b.id = m.base_model_id WHERE m.name = ${name}`,
  )
  if (row === undefined || depth >= depthLimit) return unknown('model', name)
  if (shown.has(`model ${name}`)) return shownBefore('model', name)
  const further = { depth: depth + 1, shown: shown.add(`model ${name}`) }
  const datasets = await queries.rows(
    z.object({ dataset_name: z.string() }),
    sql`SELECT dataset_name FROM model_datasets WHERE model_id = ${row.id} ORDER BY position`,
  )
  const parents: Ancestor[] = []
  for (const { dataset_name } of datasets) parents.push(await datasetAncestor(queries, dataset_name, further))
  if (row.base !== null) parents.push(await modelAncestor(queries, row.base, further))
  const { id: _, name: __, base: ___, ...facts } = row
  return { kind: 'model', name, registered: true, facts, parents, sources: [] }
}

async function datasetAncestor(queries: Queries, name: string, { depth, shown }: Walk): Promise<Ancestor> {
  const [row] = await queries.rows(
    datasetRow,
    sql`SELECT id, name, data_location, recipe_name, recipe_digest, num_tasks, num_rows FROM datasets WHERE name = ${name}`,
  )
  if (row === undefined || depth >= depthLimit) return unknown('dataset', name)
  if (shown.has(`dataset ${name}`)) return shownBefore('dataset', name)
  const further = { depth: depth + 1, shown: shown.add(`dataset ${name}`) }
  const parents: Ancestor[] = []
  for (const parent of await sourcesOf(queries, row.id, 'dataset'))
    parents.push(await datasetAncestor(queries, parent, further))
  for (const teacher of await sourcesOf(queries, row.id, 'model'))
    parents.push(await modelAncestor(queries, teacher, further))
  const sources = []
  for (const kind of ['source', 'task', 'job']) {
    const count = await countOf(queries, row.id, kind)
    if (count > 0) sources.push({ kind, count, first: await firstOf(queries, row.id, kind) })
  }
  const { recipe_name, recipe_digest, data_location, num_tasks, num_rows } = row
  const facts = { recipe_name, recipe_digest, data_location, num_tasks, num_rows }
  return { kind: 'dataset', name, registered: true, facts, parents, sources }
}

/** A name that was already shown, whether as its own ancestor or another's, is not followed again. */
function shownBefore(kind: 'model' | 'dataset', name: string): Ancestor {
  return { kind, name, registered: true, facts: { shown: 'above' }, parents: [], sources: [] }
}

function unknown(kind: 'model' | 'dataset', name: string): Ancestor {
  return { kind, name, registered: false, facts: {}, parents: [], sources: [] }
}

const nameRow = z.object({ name: z.string() })

async function sourcesOf(queries: Queries, id: string, kind: string): Promise<string[]> {
  const query = sql`SELECT name FROM dataset_sources WHERE dataset_id = ${id} AND kind = ${kind} ORDER BY name LIMIT 1000`
  return (await queries.rows(nameRow, query)).map(({ name }) => name)
}

/** The first few source names; registered tasks are shown by name. */
async function firstOf(queries: Queries, id: string, kind: string): Promise<string[]> {
  const query = sql`SELECT coalesce(t.name, s.name) AS name FROM dataset_sources s
    LEFT JOIN sandbox_tasks t ON s.kind = 'task' AND t.checksum = s.name
    WHERE s.dataset_id = ${id} AND s.kind = ${kind} ORDER BY 1 LIMIT ${shownSources}`
  return (await queries.rows(nameRow, query)).map(({ name }) => name)
}

async function countOf(queries: Queries, id: string, kind: string): Promise<number> {
  const query = sql`SELECT count(*) AS count FROM dataset_sources WHERE dataset_id = ${id} AND kind = ${kind}`
  const [row] = await queries.rows(z.object({ count: z.number() }), query)
  return row?.count ?? 0
}
