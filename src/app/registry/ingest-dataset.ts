import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { z } from 'zod'
import { messageOf, UserError } from '../../core/errors.ts'
import { SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { kindAt, readTextIfExists } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import type { Database } from '../../registry/database.ts'
import { addSources, type NewDataset, registerDataset, type SourceKind } from '../../registry/entities.ts'
import { readReport } from '../../run/recipe/read-report.ts'
import { modelName } from './model-name.ts'

export interface DatasetIngestion {
  readonly name?: string | undefined
  /** Its purpose (default: SFT). */
  readonly type?: NewDataset['type'] | undefined
  /** Its location, if not its path. */
  readonly location?: string | undefined
  /** The commit of the repository it was uploaded to. */
  readonly commit?: string | undefined
  readonly isPublic: boolean
}

type Sources = readonly (readonly [kind: SourceKind, name: string])[]

/** The part of a trace export's manifest that the registry uses. */
const manifestSchema = z.object({
  schema: z.literal('traces/1'),
  createdAt: z.string().nullish().default(null),
  madeBy: z.string().nullish().default(null),
  options: z.unknown().optional(),
  inputs: z.array(z.object({ job: z.string(), jobId: z.string().nullish() })).default([]),
})

/** Registers a dataset of traces, or every output of a recipe, with its tasks, jobs, teachers and sources. */
export async function ingestDatasets(database: Database, path: string, ask: DatasetIngestion) {
  const text = (await kindAt(path)) === 'dir' ? await readTextIfExists(join(path, 'manifest.json')) : null
  const document = Object(text === null ? null : parseJson(text))
  if (document.schema !== 'recipe-report/1') {
    const name = ask.name ?? basename(resolve(path)).replace(/\.parquet$/, '')
    return [await ingestDataset(database, { path, data: path, text, document, recipe: null }, { ...ask, name })]
  }
  const { outputs, ...recipe } = await recipeFacts(path)
  if (ask.name !== undefined && outputs.length > 1)
    throw new UserError(
      `--name: expected a recipe with one output, got ${outputs.length}: ${outputs.map(({ id }) => id).join(', ')}`,
      `leave the name out, or pass one output: ${outputs[0]?.data}`,
    )
  const ingested: Awaited<ReturnType<typeof ingestDataset>>[] = []
  for (const { id, data } of outputs) {
    const name = ask.name ?? (outputs.length > 1 ? `${recipe.name}-${id}` : recipe.name)
    ingested.push(await ingestDataset(database, { path: data, data, text, document, recipe }, { ...ask, name }))
  }
  return ingested
}

interface FoundDataset {
  readonly path: string
  /** Where its rows are. */
  readonly data: string
  /** Its manifest, or that of its recipe's run. */
  readonly text: string | null
  readonly document: unknown
  readonly recipe: Omit<Awaited<ReturnType<typeof recipeFacts>>, 'outputs'> | null
}

async function ingestDataset(
  database: Database,
  { path, data, text, document, recipe }: FoundDataset,
  { name, ...ask }: DatasetIngestion & { readonly name: string },
) {
  const content = await contentOf(data)
  const manifest = manifestSchema.safeParse(document)
  const exported = manifest.success ? manifest.data : null
  const type = ask.type ?? 'SFT'
  const dataset: NewDataset = {
    ...{ name, type, commit: ask.commit ?? null },
    location: ask.location ?? resolve(data),
    recipeName: recipe?.name ?? null,
    recipeDigest: recipe?.digest ?? null,
    hash: text === null ? null : createHash('sha256').update(text).digest('hex'),
    parameters: exported?.options ?? null,
    tasks: type === 'tasks' ? content.rows : content.tasks.length,
    rows: content.rows,
    createdBy: exported?.madeBy ?? null,
    createdAt: exported?.createdAt ?? null,
  }
  const sources: Sources = [
    ...content.tasks.map((task) => ['task', task] as const),
    ...content.models.map((model) => ['model', model] as const),
    ...(exported?.inputs ?? []).map(({ job, jobId }) => ['job', jobId ?? job] as const),
    ...(recipe?.sources ?? []).map((source) => ['source', source] as const),
  ]
  await database.transaction(async (queries) => {
    const id = await registerDataset(queries, dataset, ask.isPublic)
    await addSources(queries, id, sources)
  })
  return { kind: 'dataset', path, name } as const
}

/** What a finished recipe run says about its datasets. */
async function recipeFacts(dir: string) {
  const report = await readReport(dir)
  if (report.rehearsal)
    throw new UserError(`${dir}: expected a run of a recipe, got a rehearsal`, 'its rows are stand-ins; run the recipe')
  const lock = await readTextIfExists(join(dir, 'lock.json'))
  const [first] = report.outputs
  if (first === undefined)
    throw new UserError(`${dir}: expected a recipe with an output, got one without`, 'end the recipe with an exporter')
  const outputs: { id: string; data: string }[] = []
  for (const { id, dir: at } of report.outputs) {
    const data = join(dir, at)
    // An output without a table, such as a folder of tasks, is only refused where there is nothing else to register.
    if (report.outputs.length === 1 || (await parquetFiles(data)).length > 0) outputs.push({ id, data })
  }
  if (outputs.length === 0)
    throw new UserError(
      `${dir}: expected an output with parquet files, got none`,
      'give an exporter formats: [parquet]',
    )
  return {
    name: report.name,
    digest: lock === null ? null : createHash('sha256').update(lock).digest('hex'),
    outputs,
    sources: [...new Set(report.steps.flatMap(({ sources }) => Object.keys(sources)))].sort(),
  }
}

const columns = ['task_checksum', 'task_digest', 'task', 'model', 'model_provider']

/** The number of rows, and their distinct tasks and models, read in bounded memory. Columns may be missing. */
async function contentOf(path: string): Promise<{ rows: number; tasks: readonly string[]; models: readonly string[] }> {
  const files = await parquetFiles(path)
  if (files.length === 0)
    throw new UserError(`${path}: expected parquet files of traces, got none`, 'traces export writes such files')
  const tempDir = join(tmpdir(), 'ot-agent-registry')
  await using duckdb = await SqlDatabase.open({ memoryMb: 512, threads: 2, tempDir })
  const from = `read_parquet([${files.map(sqlText).join(', ')}], union_by_name = true)`
  try {
    const described = await duckdb.rows(`DESCRIBE SELECT * FROM ${from}`)
    const there = new Set(described.map((row) => String(row.column_name)))
    const column = (name: string) => (there.has(name) && columns.includes(name) ? `CAST(${name} AS VARCHAR)` : 'NULL')
    const task = `coalesce(nullif(${column('task_checksum')}, ''), nullif(${column('task_digest')}, ''), 'name:' || ${column('task')})`
    // In trajectories, the model's name may include the provider.
    const model = `CASE WHEN coalesce(${column('model_provider')}, '') IN ('', 'unknown-provider')
      OR starts_with(${column('model')}, ${column('model_provider')} || '/') THEN ${column('model')}
      ELSE ${column('model_provider')} || '/' || ${column('model')} END`
    const distinct = async (value: string) =>
      (await duckdb.rows(`SELECT DISTINCT ${value} AS value FROM ${from} WHERE ${value} IS NOT NULL ORDER BY 1`)).map(
        (row) => String(row.value),
      )
    return {
      rows: await duckdb.number(`SELECT count(*) FROM ${from}`),
      tasks: await distinct(task),
      models: [...new Set((await distinct(model)).map((given) => modelName(given).name))],
    }
  } catch (error) {
    throw new UserError(
      `${path}: expected parquet files of traces: ${messageOf(error).split('\n')[0]}`,
      'traces export writes such files',
    )
  }
}

/** The parquet files of a dataset: the file itself, or those in its directory and its `data/`. */
async function parquetFiles(path: string): Promise<string[]> {
  if ((await kindAt(path)) === 'file') return [path]
  const found: string[] = []
  for (const dir of [path, join(path, 'data')]) {
    if ((await kindAt(dir)) !== 'dir') continue
    const entries = await readdir(dir, { withFileTypes: true })
    found.push(
      ...entries.filter((one) => one.isFile() && one.name.endsWith('.parquet')).map(({ name }) => join(dir, name)),
    )
  }
  return found.sort()
}
