import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { BoundaryError, UserError } from '../../core/errors.ts'
import { kindAt, readTextIfExists } from '../../lib/files.ts'
import { nearest } from '../../lib/nearest.ts'
import { chooseDataFiles } from '../hub/data-files.ts'
import { findDatasetRows } from '../hub/dataset-rows.ts'
import { plainFiles } from '../hub/folder-repository.ts'
import type { HubSurroundings } from '../hub/open.ts'
import {
  datasetInfoFile,
  hintsOf,
  type InfoEntry,
  isHeldOut,
  parseDatasetInfo,
  readDatasetInfo,
  rootedEntry,
} from './dataset-info.ts'
import { type DatasetShape, recognizeShape, type ShapeHints } from './recognize.ts'
import { dataFile, peekRows, type RowSample, sampleFiles } from './sample-rows.ts'

/** A dataset as described to LLaMA-Factory. */
export interface FoundDataset {
  readonly name: string
  readonly use: 'train' | 'eval'
  /** Null if the rows could not be sampled. */
  readonly sample: RowSample | null
  readonly shape: DatasetShape
  /** The entry of dataset_info.json. */
  readonly entry: Readonly<Record<string, unknown>>
}

export interface DatasetSearch {
  /** What was requested: a path, `file:PATH`, `org/name`, or a name in `datasetDir`. */
  readonly asked: string
  /** Where the trainer will find a Hub dataset: its name, or the folder it is downloaded to. */
  readonly place: string
  /** A folder with the user's dataset_info.json. */
  readonly datasetDir: string | null
  readonly hints: ShapeHints
  /** How many rows to sample. */
  readonly rows: number
  /** Null: do not contact the Hub. */
  readonly hub: HubSurroundings | null
  /** True if it may be created by a job that has not run yet, or be on another machine. */
  readonly mayBeMissing: boolean
}

export interface FoundDatasets {
  readonly datasets: readonly FoundDataset[]
  readonly notes: readonly string[]
}

/** The shape of our own rows, assumed for datasets that cannot be sampled. */
const assumed: DatasetShape = {
  formatting: 'sharegpt',
  columns: { messages: 'conversations' },
  tags: {
    ...{ role_tag: 'role', content_tag: 'content', user_tag: 'user', assistant_tag: 'assistant' },
    ...{ system_tag: 'system', observation_tag: 'tool', function_tag: 'function_call' },
  },
}

/** Finds a dataset and the format of its rows, from its dataset_info.json or by sampling rows. */
export async function findDataset(search: DatasetSearch): Promise<FoundDatasets> {
  const listed = search.datasetDir === null ? null : await readDatasetInfo(search.datasetDir)
  if (search.datasetDir && listed?.has(search.asked))
    // A dataset requested by name is used for training, whatever its name.
    return {
      datasets: [{ ...(await ofEntry(search, search.datasetDir, search.asked, listed)), use: 'train' }],
      notes: [],
    }
  const path = resolve(search.asked.replace(/^file:(\/\/(?=\/))?/, ''))
  const kind = await kindAt(path)
  if (kind === 'file') return { datasets: [await ofFile(search, path)], notes: [] }
  if (kind === 'dir') return ofFolder(search, path)
  const onHub = !search.asked.startsWith('file:') && /^\w[\w.-]*\/[\w.-]+$/.test(search.asked)
  if (onHub && (await kindAt(search.place)) === 'dir') return ofFolder(search, search.place)
  if (onHub) return ofHub(search)
  if (search.mayBeMissing && listed === null) return unseen(search, path, `${path} does not exist yet`)
  const near = listed === null ? null : nearest(search.asked, [...listed.keys()])
  throw new UserError(
    listed === null
      ? `--dataset: expected a file, a folder or org/name, found nothing at ${search.asked}`
      : `--dataset: ${join(search.datasetDir ?? '', datasetInfoFile)} lists no ${search.asked}`,
    near === null
      ? listed === null
        ? 'check the path'
        : `it lists ${[...listed.keys()].slice(0, 10).join(', ')}`
      : `did you mean ${near}?`,
  )
}

async function ofFile({ hints, rows }: DatasetSearch, path: string): Promise<FoundDataset> {
  const sample = await sampleFiles([path], rows)
  return found('dataset', { file_name: path }, sample, recognizeShape(sample.rows, hints, path))
}

/** A folder with its own dataset_info.json, or one laid out as on the Hub, which the trainer can read. */
async function ofFolder(search: DatasetSearch, dir: string): Promise<FoundDatasets> {
  const listed = await readDatasetInfo(dir)
  if (listed !== null) return ofListed(search, dir, listed)
  const { files } = (await plainFiles(dir)) ?? { files: [] }
  const data = files.filter((path) => dataFile.test(path))
  const sized = await Promise.all(
    data.map(async (path) => ({ path, sizeBytes: (await stat(join(dir, path))).size, sha256: null, gitOid: null })),
  )
  const chosen = chooseDataFiles(sized, await readTextIfExists(join(dir, 'README.md')), {
    config: null,
    split: 'train',
  })
  if (chosen.length === 0)
    throw new UserError(
      `${dir}: expected files of rows to train on, found none among ${files.length} files`,
      'add files that end in .parquet, .jsonl, .json or .csv, or a dataset_info.json',
    )
  const sample = await sampleFiles(
    chosen.map(({ path }) => join(dir, path)),
    search.rows,
  )
  const shape = recognizeShape(sample.rows, search.hints, dir)
  return { datasets: [found('dataset', { hf_hub_url: dir }, sample, shape)], notes: [] }
}

async function ofListed(
  search: DatasetSearch,
  dir: string,
  listed: ReadonlyMap<string, InfoEntry>,
): Promise<FoundDatasets> {
  const names = [...listed].filter(([, { ranking }]) => ranking !== true).map(([name]) => name)
  if (names.length === 0)
    throw new UserError(
      `${join(dir, datasetInfoFile)}: expected a dataset to train on, found rankings only`,
      'choose another dataset',
    )
  const datasets: FoundDataset[] = []
  for (const name of names) datasets.push(await ofEntry(search, dir, name, listed))
  // If every split is called test, that is what was requested.
  const hasTrain = datasets.some(({ use }) => use === 'train')
  return { datasets: hasTrain ? datasets : datasets.map((each) => ({ ...each, use: 'train' as const })), notes: [] }
}

async function ofEntry(
  { hints, rows }: DatasetSearch,
  dir: string,
  name: string,
  listed: ReadonlyMap<string, InfoEntry>,
): Promise<FoundDataset> {
  const entry = rootedEntry(listed.get(name) ?? {}, dir)
  const own = hintsOf(entry)
  const both: ShapeHints = {
    formatting: hints.formatting ?? own.formatting,
    columns: { ...own.columns, ...hints.columns },
    tags: { ...own.tags, ...hints.tags },
  }
  const files = entry.file_name === undefined ? null : await filesAt(entry.file_name)
  const sample = files === null ? null : await sampleFiles(files, rows)
  const stated = {
    formatting: entry.formatting ?? 'alpaca',
    columns: both.columns ?? {},
    ...(both.tags && { tags: both.tags }),
  }
  const shape = sample === null ? stated : recognizeShape(sample.rows, both, join(dir, datasetInfoFile))
  return { ...found(name, entry, sample, shape), use: isHeldOut(name) ? 'eval' : 'train' }
}

async function filesAt(path: string): Promise<readonly string[]> {
  const kind = await kindAt(path)
  const inside = kind === 'dir' ? ((await plainFiles(path))?.files ?? []).map((name) => join(path, name)) : [path]
  if (kind !== 'none') return inside
  throw new UserError(
    `${path}: expected the file that ${datasetInfoFile} names, found none`,
    'check that the dataset is complete',
  )
}

/** A Hub dataset, with its first rows read from there. */
async function ofHub(search: DatasetSearch): Promise<FoundDatasets> {
  const { asked, place, hub } = search
  if (hub === null) return unseen(search, place, 'HF_HUB_OFFLINE is set')
  try {
    const at = await findDatasetRows(
      { kind: 'hub', repo: asked },
      { config: null, split: 'train', revision: null, pattern: null },
      hub,
    )
    const [sample, listed] = await Promise.all([peekRows(at, search.rows), hubInfo(at)])
    if (sample.rows.length === 0) return unseen(search, place, 'its rows are too large to read remotely')
    const train = [...(listed ?? [])].find(([name, { ranking }]) => !isHeldOut(name) && ranking !== true)
    const own = train ? hintsOf(train[1]) : {}
    const hints = {
      ...own,
      ...search.hints,
      columns: { ...own.columns, ...search.hints.columns },
      tags: { ...own.tags, ...search.hints.tags },
    }
    const shape = recognizeShape(sample.rows, hints, asked)
    const datasets = [found('dataset', { hf_hub_url: place }, sample, shape)]
    const held = [...(listed ?? [])].some(([name]) => isHeldOut(name))
    return {
      datasets: held
        ? [
            ...datasets,
            { ...found('dataset_validation', { hf_hub_url: place, split: 'validation' }, null, shape), use: 'eval' },
          ]
        : datasets,
      notes: [],
    }
  } catch (error) {
    if (error instanceof BoundaryError) return unseen(search, place, error.message)
    throw error
  }
}

async function hubInfo({ repository, commit }: Awaited<ReturnType<typeof findDatasetRows>>) {
  const file = (await repository.list(commit)).find(({ path }) => path === datasetInfoFile)
  if (file === undefined || file.sizeBytes > 1_000_000) return null
  const chunks: Uint8Array[] = []
  for await (const chunk of (await repository.read(commit, file.path, 0)).body) chunks.push(chunk)
  return parseDatasetInfo(Buffer.concat(chunks).toString('utf8'), `${repository.name}/${datasetInfoFile}`)
}

/** Assumes that a dataset that cannot be sampled has our format, and tells the user. */
function unseen({ asked, hints }: DatasetSearch, place: string, why: string): FoundDatasets {
  const isFile = dataFile.test(place)
  const formatting = (['sharegpt', 'openai', 'alpaca'] as const).find((each) => each === hints.formatting)
  const shape: DatasetShape =
    formatting === 'alpaca'
      ? { formatting, columns: hints.columns ?? {} }
      : {
          formatting: formatting ?? assumed.formatting,
          columns: { ...assumed.columns, ...hints.columns },
          tags: { ...assumed.tags, ...hints.tags },
        }
  const said =
    Object.keys({ ...hints.columns, ...hints.tags }).length > 0
      ? 'as the flags say'
      : 'conversations of role and content'
  return {
    datasets: [found('dataset', isFile ? { file_name: place } : { hf_hub_url: place }, null, shape)],
    notes: [`warning: the rows of ${asked} were not checked (${why}); assuming ${said}`],
  }
}

function found(
  name: string,
  place: Readonly<Record<string, unknown>>,
  sample: RowSample | null,
  { formatting, columns, tags }: DatasetShape,
): FoundDataset {
  const { formatting: _formatting, columns: _columns, tags: _tags, ...rest } = place
  const shape = { formatting, columns, ...(tags && { tags }) }
  return { name, use: 'train', sample, shape, entry: { ...rest, ...shape } }
}
