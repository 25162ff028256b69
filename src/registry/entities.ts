import { createHash } from 'node:crypto'
import { utcNow } from '../lib/time.ts'
import type { Queries } from './database.ts'
import { sql, type Value } from './sql.ts'

/** An entry's id, derived from what names it, so that two processes registering it at once agree. */
export function idOf(kind: string, ...names: readonly string[]): string {
  const hex = createHash('sha256')
    .update(JSON.stringify([kind, ...names]))
    .digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}

export interface NamedVersion {
  readonly name: string
  /** Empty if unknown. */
  readonly version: string
}

export async function registerAgent(queries: Queries, { name, version }: NamedVersion): Promise<string> {
  const id = idOf('agent', name, version)
  const columns = ['id', 'name', 'version', 'updated_at']
  await queries.insert({ table: 'agents', columns, rows: [[id, name, version, utcNow()]] })
  return id
}

export async function registerBenchmark(queries: Queries, of: NamedVersion, isPublic: boolean): Promise<string> {
  const id = idOf('benchmark', of.name, of.version)
  const columns = ['id', 'name', 'version', 'is_public', 'updated_at']
  await queries.insert({ table: 'benchmarks', columns, rows: [[id, of.name, of.version, Number(isPublic), utcNow()]] })
  if (isPublic) await publish(queries, 'benchmarks', id)
  return id
}

/** Registers a model by name only; details registered earlier are kept. */
export async function registerModel(queries: Queries, name: string, isPublic: boolean): Promise<string> {
  const id = idOf('model', name)
  const columns = ['id', 'name', 'training_status', 'is_public', 'updated_at']
  await queries.insert({ table: 'models', columns, rows: [[id, name, 'external', Number(isPublic), utcNow()]] })
  if (isPublic) await publish(queries, 'models', id)
  return id
}

/** A trained model with its run, its training data and its base model. */
export interface TrainedModel {
  readonly name: string
  readonly baseModel: string | null
  readonly datasets: readonly string[]
  readonly agent: string | null
  readonly trainingType: 'SFT' | 'RL' | null
  readonly status: 'started' | 'finished' | 'failed'
  /** Identifies the training run: the scheduler's job, or the location of its summary. */
  readonly run: string | null
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly parameters: unknown
  readonly createdBy: string | null
  readonly weightsLocation: string | null
  readonly wandbLink: string | null
}

/** Registers a trained model. A later summary of the same model replaces an earlier one. */
export async function registerTrainedModel(queries: Queries, model: TrainedModel, isPublic: boolean): Promise<string> {
  const id = await registerModel(queries, model.name, isPublic)
  const base = model.baseModel === null ? null : await registerModel(queries, model.baseModel, isPublic)
  const agent = model.agent === null ? null : await registerAgent(queries, { name: model.agent, version: '' })
  await queries.run(sql`UPDATE models SET
    base_model_id = ${base === id ? null : base}, agent_id = ${agent}, training_status = ${model.status},
    training_type = ${model.trainingType}, training_run = ${model.run}, training_start = ${model.startedAt},
    training_end = ${model.endedAt}, training_parameters = ${JSON.stringify(model.parameters ?? null)},
    created_by = ${model.createdBy}, weights_location = ${model.weightsLocation}, wandb_link = ${model.wandbLink},
    updated_at = ${utcNow()} WHERE id = ${id}`)
  await queries.run(sql`DELETE FROM model_datasets WHERE model_id = ${id}`)
  const rows = [...new Set(model.datasets)].map((name, position): Value[] => [id, name, position])
  await queries.insert({ table: 'model_datasets', columns: ['model_id', 'dataset_name', 'position'], rows })
  return id
}

/** A dataset and what it was made from. */
export interface NewDataset {
  readonly name: string
  readonly type: 'tasks' | 'SFT' | 'RL'
  readonly location: string | null
  readonly recipeName: string | null
  readonly recipeDigest: string | null
  /** Identifies the content. */
  readonly hash: string | null
  readonly parameters: unknown
  readonly tasks: number | null
  readonly rows: number | null
  readonly createdBy: string | null
  readonly createdAt: string | null
  /** The commit of the repository it was uploaded to; null keeps the known one. */
  readonly commit: string | null
}

/** Registers a dataset, or replaces its facts. `addSources` adds its sources. */
export async function registerDataset(queries: Queries, dataset: NewDataset, isPublic: boolean): Promise<string> {
  const id = idOf('dataset', dataset.name)
  const columns = ['id', 'name', 'dataset_type', 'generation_status', 'is_public', 'updated_at']
  const row = [id, dataset.name, dataset.type, 'finished', Number(isPublic), utcNow()]
  await queries.insert({ table: 'datasets', columns, rows: [row] })
  await queries.run(sql`UPDATE datasets SET dataset_type = ${dataset.type}, data_location = ${dataset.location},
    recipe_name = ${dataset.recipeName}, recipe_digest = ${dataset.recipeDigest}, data_generation_hash = ${dataset.hash},
    generation_parameters = ${JSON.stringify(dataset.parameters ?? null)}, num_tasks = ${dataset.tasks},
    num_rows = ${dataset.rows}, created_by = ${dataset.createdBy}, creation_time = ${dataset.createdAt},
    hf_commit_hash = coalesce(${dataset.commit}, hf_commit_hash),
    updated_at = ${utcNow()} WHERE id = ${id}`)
  await queries.run(sql`DELETE FROM dataset_sources WHERE dataset_id = ${id}`)
  if (isPublic) await publish(queries, 'datasets', id)
  return id
}

export type SourceKind = 'task' | 'dataset' | 'job' | 'model' | 'source'

export async function addSources(
  queries: Queries,
  datasetId: string,
  sources: readonly (readonly [kind: SourceKind, name: string])[],
): Promise<void> {
  const rows = sources.map(([kind, name]) => [datasetId, kind, name])
  await queries.insert({ table: 'dataset_sources', columns: ['dataset_id', 'kind', 'name'], rows })
}

async function publish(queries: Queries, table: 'benchmarks' | 'models' | 'datasets', id: string): Promise<void> {
  const statements = {
    benchmarks: sql`UPDATE benchmarks SET is_public = 1 WHERE id = ${id} AND is_public = 0`,
    models: sql`UPDATE models SET is_public = 1 WHERE id = ${id} AND is_public = 0`,
    datasets: sql`UPDATE datasets SET is_public = 1 WHERE id = ${id} AND is_public = 0`,
  }
  await queries.run(statements[table])
}
