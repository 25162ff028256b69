import { mkdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UserError } from '../../core/errors.ts'
import { openSnapshot, putInPlace } from '../../formats/hub/download.ts'
import { chooseTaskFiles, downloadTasks } from '../../formats/hub/download-tasks.ts'
import { openRepository } from '../../formats/hub/open.ts'
import { parseTarget } from '../../formats/hub/target.ts'
import { openTaskRows } from '../../formats/task-parquet/read-rows.ts'
import { unpackTasks } from '../../formats/task-parquet/unpack-tasks.ts'
import { canonicalJson } from '../../lib/digest-json.ts'
import { exists, readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { removeTree } from '../../lib/remove-tree.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { sometimes } from '../../lib/sometimes.ts'
import type { GenerationRequest } from '../../run/pipeline/request.ts'
import type { Notify } from '../job/tasks-request.ts'
import type { LoadedPipeline } from './load-pipeline.ts'
import type { GenerateOptions } from './options.ts'

/** Which packed tasks to use: a parquet file on this machine, or a dataset. */
export type PackedTasks =
  | { readonly file: string }
  | { readonly repo: string; readonly revision: string | null; readonly parquetName: string | null }

/** Takes the place of a pipeline when the tasks already exist. */
export function tracesOnly(): LoadedPipeline {
  const name = 'from-parquet'
  const pipeline = { name, summary: 'runs agents on packed tasks', source: { fixture: () => [], real: null } }
  return { pipeline, hooks: null, dir: process.cwd(), digest: name }
}

/** Reads `--from-parquet` and its related options; null if absent. */
export function packedTasksOf(options: GenerateOptions): PackedTasks | null {
  const { fromParquet, tasksRepo, tasksRevision, parquetName } = options
  if (fromParquet === undefined) {
    const stray = tasksRepo ?? tasksRevision ?? parquetName
    if (stray === undefined) return null
    throw new UserError(`${JSON.stringify(stray)}: expected --from-parquet with it`, 'add --from-parquet')
  }
  const given = typeof fromParquet === 'string' ? fromParquet : undefined
  if ((given === undefined) === (tasksRepo === undefined))
    throw new UserError(
      `--from-parquet: expected a parquet file or --tasks-repo, got ${given === undefined ? 'neither' : 'both'}`,
      'for example --from-parquet tasks.parquet, or --from-parquet --tasks-repo org/name',
    )
  if (given?.endsWith('.parquet')) return { file: localPath(given) }
  const repo = tasksRepo ?? given ?? ''
  parseTarget(repo, tasksRepo === undefined ? '--from-parquet' : '--tasks-repo')
  return { repo, revision: tasksRevision ?? null, parquetName: parquetName ?? null }
}

function localPath(text: string): string {
  if (text.startsWith('file:///')) return fileURLToPath(text)
  return resolve(text.replace(/^file:/, ''))
}

interface Extraction {
  readonly overwrite: boolean
  readonly workDir: string
  readonly notify: Notify
  readonly signal: AbortSignal
}

type Extracting = Pick<Extraction, 'notify' | 'signal'>

/**
 * Unpacks the tasks into the output folder once; later runs of the same command use these, even if the dataset changes.
 */
export async function extractTasks(
  asked: PackedTasks,
  request: GenerationRequest,
  { overwrite, workDir, ...at }: Extraction,
): Promise<GenerationRequest> {
  const out = join(request.outputDir, 'tasks_extracted')
  const record = join(workDir, 'from-parquet.json')
  const isDone = (await readTextIfExists(record)) === canonicalJson(asked) && (await exists(out))
  if (!isDone || overwrite) {
    if ('file' in asked) await extractFile(asked.file, out, at)
    else await extractDataset(asked, out, at)
    await writeAtomic(record, canonicalJson(asked))
  }
  return { ...request, tasksInput: out }
}

async function extractFile(file: string, out: string, { notify, signal }: Extracting): Promise<void> {
  const fresh = join(dirname(out), `.${basename(out)}.unpacked`)
  const tick = sometimes(notify)
  await removeTree(fresh)
  await mkdir(dirname(fresh), { recursive: true })
  await unpackTasks(file, fresh, { signal, onProgress: (done, total) => tick(`unpacked ${done} of ${total} tasks`) })
  await putInPlace(fresh, out)
}

const limitBytes = 100e9

async function extractDataset(
  asked: Exclude<PackedTasks, { file: string }>,
  out: string,
  { notify, signal }: Extracting,
): Promise<void> {
  const chosen = await chooseIn(asked, signal)
  const tick = sometimes(notify)
  const { bytes } = chosen.snapshot
  const onProgress = (done: { bytes: number }) =>
    tick(`fetched ${megabytes(done.bytes)} of ${megabytes(bytes)} of tasks`)
  const { repeated } = await downloadTasks(chosen, out, { limitBytes, overwrite: true, signal, onProgress })
  if (repeated > 0) notify(`${repeated} tasks occur in more than one file; the first copy of each is used`)
}

async function chooseIn({ repo, revision, parquetName }: Exclude<PackedTasks, { file: string }>, signal: AbortSignal) {
  const repository = openRepository(repo, { env: process.env, signal })
  return chooseTaskFiles(await openSnapshot(repository, revision), parquetName)
}

/** Describes what would be unpacked, for a dry run; writes nothing. */
export async function describePacked(
  asked: PackedTasks,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  if ('file' in asked) {
    await using rows = await openTaskRows(asked.file)
    return { file: asked.file, tasks: rows.rows }
  }
  const { kind, snapshot } = await chooseIn(asked, signal)
  const { repository, commit, files, bytes } = snapshot
  return { repository: repository.name, commit, kind, files: files.map(({ path }) => path), bytes }
}
