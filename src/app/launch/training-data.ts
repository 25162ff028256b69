import { dirname, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { TrainingValues } from '../../formats/llamafactory/training-values.ts'
import { datasetInfoFile } from '../../formats/sft-dataset/dataset-info.ts'
import { type FoundDataset, findDataset } from '../../formats/sft-dataset/find-dataset.ts'
import type { ShapeHints } from '../../formats/sft-dataset/recognize.ts'
import { exists } from '../../lib/files.ts'
import type { PlanContext } from '../../run/launch/plan.ts'
import type { Download } from '../../run/launch/plan-model.ts'
import type { Settings } from '../../run/launch/settings.ts'
import { localOf } from './local-paths.ts'
import { columnFlags, tagFlags } from './trainer-flags.ts'

/** How many rows are sampled. */
const sampleRows = 200

/** A training run's input, found and inspected before anything is submitted. */
export interface TrainingData {
  readonly datasets: readonly FoundDataset[]
  readonly downloads: readonly Download[]
  readonly notes: readonly string[]
}

/** Finds the training data: what flags name, else what the training file names. */
export async function trainingData(
  at: PlanContext,
  settings: Settings,
  file: { readonly path: string; readonly values: TrainingValues },
): Promise<TrainingData> {
  const dir = await datasetDirOf(settings, file)
  const names = namesOf(settings.text('dataset') ?? file.values.dataset)
  const asked = [
    ...(names.length === 0 && dir !== null ? [dir] : names).map((name) => ({ name, use: null })),
    ...(settings.has('dataset') ? [] : namesOf(file.values.eval_dataset)).map((name) => ({
      name,
      use: 'eval' as const,
    })),
  ]
  const datasets: FoundDataset[] = []
  const downloads: Download[] = []
  const notes: string[] = []
  for (const { name, use } of asked) {
    const { path, download } = (await exists(resolve(name)))
      ? { path: name, download: null }
      : localOf(at, settings, name, 'dataset')
    const found = await findDataset({
      ...{
        asked: name,
        place: path,
        datasetDir: dir,
        hints: hintsOf(settings),
        rows: sampleRows,
        hub: hubOf(process.env),
      },
      mayBeMissing: settings.is('dry_run') || settings.has('dependency'),
    })
    datasets.push(...found.datasets.map((each) => (use === null ? each : { ...each, use })))
    if (download !== null) downloads.push(download)
    notes.push(...found.notes)
  }
  return { datasets, downloads, notes: [...notes, ...datasets.map(describe)] }
}

/** Refuses to train on nothing. */
export function expectData({ datasets }: TrainingData, values: TrainingValues): void {
  if (datasets.some(({ use }) => use === 'train') || values.tokenized_path) return
  throw new UserError(
    '--dataset: expected a dataset to train on, got none',
    'pass a folder that a recipe or traces export wrote, a file, or org/name on the Hub',
  )
}

function describe({ name, use, sample, shape: { formatting, columns, tags } }: FoundDataset): string {
  const rows = sample?.total == null ? '' : `${sample.total} rows of `
  const how =
    formatting === 'alpaca'
      ? `${columns.prompt} and ${columns.response}`
      : `${columns.messages} with ${tags?.role_tag} and ${tags?.content_tag} (${tags?.user_tag}, ${tags?.assistant_tag})`
  return `${use === 'train' ? 'trains on' : 'evaluates on'} ${name}: ${rows}${how}`
}

/** A folder with a dataset_info.json; defaults to the one next to the training file. */
async function datasetDirOf(
  settings: Settings,
  { path, values }: { path: string; values: TrainingValues },
): Promise<string | null> {
  const said = settings.text('dataset_dir')
  if (said !== undefined) {
    const dir = resolve(said)
    if (await exists(join(dir, datasetInfoFile))) return dir
    throw new UserError(
      `--dataset-dir: expected a folder with ${datasetInfoFile}, found none in ${dir}`,
      'use --dataset for a folder without that file',
    )
  }
  if (typeof values.dataset_dir !== 'string') return null
  for (const dir of [resolve(dirname(path), values.dataset_dir), resolve(values.dataset_dir)])
    if (await exists(join(dir, datasetInfoFile))) return dir
  return null
}

function namesOf(value: unknown): string[] {
  const names = Array.isArray(value) ? value.map(String) : typeof value === 'string' ? value.split(',') : []
  return names.map((name) => name.trim()).filter((name) => name !== '')
}

function hintsOf(settings: Settings): ShapeHints {
  const said = (flags: readonly (readonly [name: string, as: string])[]) =>
    Object.fromEntries(
      flags.flatMap(([name, as]) => {
        const value = settings.text(name)
        return value === undefined ? [] : [[as, value]]
      }),
    )
  return {
    formatting: settings.text('formatting'),
    columns: said(Object.entries(columnFlags)),
    tags: said(tagFlags.map((name) => [name, name])),
  }
}

/** A Hub client with short timeouts; null if the user asked for no network. */
export function hubOf(env: Readonly<Record<string, string | undefined>>) {
  if (/^(1|true|yes|on)$/i.test(env.HF_HUB_OFFLINE ?? '')) return null
  return { env, signal: AbortSignal.timeout(120_000), patience: { tries: 2, firstWaitMs: 500, longestWaitMs: 2_000 } }
}
