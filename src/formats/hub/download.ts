import { mkdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { digestJson } from '../../lib/digest-json.ts'
import { exists, readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { readJson } from '../../lib/parse-json.ts'
import { removeTree } from '../../lib/remove-tree.ts'
import { whyUnsafe } from '../../lib/tree-writer.ts'
import { fetchFile } from './fetch-file.ts'
import type { DatasetRepository, RepoFile } from './repository.ts'

/** Records in a folder where it was downloaded from. */
const downloadRecordFile = '.hub-download.json'

const filesAtOnce = 4

/** A selection of files at one commit of a dataset, checked but not yet fetched. */
export interface Snapshot {
  readonly repository: DatasetRepository
  readonly commit: string
  readonly files: readonly RepoFile[]
  readonly bytes: number
  /** A folder common to all these files, which is not recreated locally. */
  readonly below?: string
}

/** The files at a revision; a missing dataset, or a path that leads outside, is a UserError. */
export async function openSnapshot(repository: DatasetRepository, revision: string | null): Promise<Snapshot> {
  const commit = await repository.head(revision)
  if (commit === null)
    throw new UserError(
      `${repository.name}: expected a dataset, found none`,
      'check the name; a private one needs a token: hf auth login, or HF_TOKEN',
    )
  const files = await repository.list(commit)
  for (const { path } of files) checkPath(path, repository.name)
  return { repository, commit, files, bytes: sum(files) }
}

/** A subset of the files at the same commit. */
export function narrowed(snapshot: Snapshot, keep: (file: RepoFile) => boolean): Snapshot {
  const files = snapshot.files.filter(keep)
  return { ...snapshot, files, bytes: sum(files) }
}

export interface DownloadOptions {
  /** A larger total is refused. */
  readonly limitBytes: number
  readonly overwrite?: boolean
  readonly signal: AbortSignal
  readonly onProgress?: (done: { readonly files: number; readonly bytes: number }) => void
}

/**
 * Downloads a snapshot into a folder that appears whole or not at all. What an interrupted download fetched is kept
 * next to it, and the same command resumes. Returns true if the folder already held the same snapshot.
 */
export async function downloadSnapshot(snapshot: Snapshot, out: string, options: DownloadOptions): Promise<boolean> {
  const { repository, files, bytes } = snapshot
  const target = resolve(out)
  if (bytes > options.limitBytes)
    throw new UserError(
      `${repository.name}: expected at most ${options.limitBytes} bytes, found ${bytes} in ${files.length} files`,
      'choose files with --parquet-name, or raise --max-gb',
    )
  const record = digestSnapshot(snapshot)
  const isThere = await exists(target)
  if (isThere && !options.overwrite) {
    if ((await recordIn(target)) === record) return true
    throw new UserError(
      `${out}: expected a new path, but it already exists`,
      'choose another folder, or add --overwrite',
    )
  }
  const staging = join(dirname(target), `.${basename(target)}.download`)
  if ((await recordIn(staging)) !== record) await removeTree(staging)
  await mkdir(staging, { recursive: true })
  await writeRecord(staging, record, snapshot)
  await fetchAll(snapshot, staging, options)
  await putInPlace(staging, target)
  return false
}

/** Moves a finished folder into place, replacing what was there. */
export async function putInPlace(fresh: string, target: string): Promise<void> {
  if (await exists(target)) await swap(fresh, target)
  else await rename(fresh, target)
}

async function fetchAll(snapshot: Snapshot, dir: string, options: DownloadOptions): Promise<void> {
  const { repository, commit, files } = snapshot
  const { signal, onProgress } = options
  const done = { files: 0, bytes: 0 }
  const onBytes = (bytes: number) => {
    done.bytes += bytes
    onProgress?.(done)
  }
  const one = (file: RepoFile) =>
    fetchFile({ repository, commit, file, to: join(dir, placeIn(snapshot, file.path)), signal, onBytes })
  for await (const wasThere of mapInOrder(files, filesAtOnce, one)) {
    done.files++
    if (!wasThere) onProgress?.(done)
  }
}

function placeIn({ below = '' }: Snapshot, path: string): string {
  return below !== '' && path.startsWith(`${below}/`) ? path.slice(below.length + 1) : path
}

async function swap(fresh: string, target: string): Promise<void> {
  const old = `${fresh}.old`
  await rm(old, { recursive: true, force: true })
  await rename(target, old)
  await rename(fresh, target)
  await removeTree(old)
}

/** The digest of what a folder was downloaded from, or null. */
export async function recordIn(dir: string): Promise<string | null> {
  try {
    return Object(readJson((await readTextIfExists(join(dir, downloadRecordFile))) ?? 'null')).digest ?? null
  } catch {
    return null
  }
}

/** A snapshot's digest: the same digest means the same files. */
export function digestSnapshot({ repository, commit, files }: Snapshot): string {
  return digestJson([repository.name, commit, files.map(({ path }) => path)])
}

/** Records what a folder was downloaded from. */
export function writeRecord(dir: string, digest: string, { repository, commit, files }: Snapshot): Promise<void> {
  const record = { schema: 'hub-download/1', repository: repository.name, commit, files: files.length, digest }
  return writeAtomic(join(dir, downloadRecordFile), `${JSON.stringify(record, null, 2)}\n`)
}

function checkPath(path: string, name: string): void {
  const why =
    whyUnsafe(path) ?? (path.split('/').some((part) => part === '' || part === '.') ? 'it is not plain' : null)
  if (why === null) return
  throw new UserError(
    `${name}: path ${JSON.stringify(path.slice(0, 200))} is refused: ${why}`,
    'expected plain relative paths in a dataset',
  )
}

function sum(files: readonly RepoFile[]): number {
  return files.reduce((total, { sizeBytes }) => total + sizeBytes, 0)
}
