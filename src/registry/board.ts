import { z } from 'zod'
import type { Queries } from './database.ts'
import { join, type Sql, sql } from './sql.ts'

const count = z.coerce.number()
const stampRow = z.object({ count, newest: z.string().nullable() })

/** A value that changes whenever a run, model or dataset is added or changed. */
export async function boardStamp(queries: Queries): Promise<string> {
  const [jobs] = await queries.rows(
    stampRow,
    sql`SELECT count(*) AS count, max(updated_at) AS newest FROM sandbox_jobs`,
  )
  const [models] = await queries.rows(stampRow, sql`SELECT count(*) AS count, max(updated_at) AS newest FROM models`)
  const [datasets] = await queries.rows(
    stampRow,
    sql`SELECT count(*) AS count, max(updated_at) AS newest FROM datasets`,
  )
  return JSON.stringify([jobs, models, datasets])
}

const modelRow = z.object({ id: z.string(), name: z.string(), base: z.string().nullable() })
const madeFrom = z.object({ model_id: z.string(), dataset_name: z.string(), num_rows: z.number().nullable() })

/** A registered model and what it was made from. */
export interface BoardModel {
  readonly id: string
  readonly name: string
  readonly base: string | null
  readonly datasets: readonly { readonly name: string; readonly rows: number | null }[]
}

export async function boardModels(queries: Queries): Promise<BoardModel[]> {
  const models = await queries.rows(
    modelRow,
    sql`SELECT m.id, m.name, b.name AS base FROM models m LEFT JOIN models b ON b.id = m.base_model_id ORDER BY m.name`,
  )
  const made = await queries.rows(
    madeFrom,
    sql`SELECT s.model_id, s.dataset_name, d.num_rows FROM model_datasets s LEFT JOIN datasets d ON d.name = s.dataset_name
      ORDER BY s.model_id, s.position`,
  )
  const byModel = new Map<string, { name: string; rows: number | null }[]>()
  for (const { model_id, dataset_name: name, num_rows: rows } of made)
    byModel.set(model_id, [...(byModel.get(model_id) ?? []), { name, rows }])
  return models.map((model) => ({ ...model, datasets: byModel.get(model.id) ?? [] }))
}

const taskMean = z.object({ job_id: z.string(), task: z.string(), mean: z.number(), trials: count })

/** The mean reward and number of scored trials of each task, over the given runs. */
export async function taskMeans(queries: Queries, runs: readonly string[]): Promise<Map<string, TaskMeans>> {
  const found = new Map<string, Map<string, { mean: number; trials: number }>>()
  for (let at = 0; at < runs.length; at += 200) {
    const ids = join(
      runs.slice(at, at + 200).map((id): Sql => sql`${id}`),
      ', ',
    )
    const rows = await queries.rows(
      taskMean,
      sql`SELECT job_id, task_checksum AS task, avg(reward) AS mean, count(reward) AS trials FROM sandbox_trials
        WHERE job_id IN (${ids}) AND superseded_at IS NULL AND reward IS NOT NULL GROUP BY job_id, task_checksum`,
    )
    for (const { job_id, task, mean, trials } of rows) {
      const tasks = found.get(job_id) ?? new Map()
      tasks.set(task, { mean, trials })
      found.set(job_id, tasks)
    }
  }
  return found
}

export type TaskMeans = ReadonlyMap<string, { readonly mean: number; readonly trials: number }>

/** The parameters of a model's training run, and the models derived from it. */
export async function modelDetails(queries: Queries, name: string) {
  const [row] = await queries.rows(
    z.object({ id: z.string(), parameters: z.string().nullable() }),
    sql`SELECT id, training_parameters AS parameters FROM models WHERE name = ${name}`,
  )
  if (row === undefined) return null
  const children = await queries.rows(
    z.object({ name: z.string() }),
    sql`SELECT name FROM models WHERE base_model_id = ${row.id} ORDER BY name LIMIT 500`,
  )
  return { parameters: row.parameters, children: children.map((child) => child.name) }
}
