import { basename, resolve } from 'node:path'
import {
  type DownloadOptions,
  downloadSnapshot,
  narrowed,
  openSnapshot,
  type Snapshot,
} from '../../formats/hub/download.ts'
import { chooseParquet, chooseTaskFiles, downloadTasks } from '../../formats/hub/download-tasks.ts'
import { openRepository } from '../../formats/hub/open.ts'
import { parseTarget } from '../../formats/hub/target.ts'
import { explainDisk } from '../disk-errors.ts'

export interface DownloadRequest {
  /** `org/name`, or `file:PATH`. */
  readonly repository: string
  readonly type: 'dataset' | 'model'
  /** A branch, tag or commit; absent: the head of the main branch. */
  readonly revision?: string | undefined
  /** Downloads only this parquet file, given by its path or file name. */
  readonly parquetName?: string | undefined
  /** Only tasks, unpacked. */
  readonly tasks: boolean
  /** The folder to create; absent: the repository's name. */
  readonly out?: string | undefined
  readonly overwrite: boolean
  readonly limitBytes: number
  /** Larger files are skipped. */
  readonly limitFileBytes?: number | undefined
  /** Only reports, fetches nothing. */
  readonly dryRun: boolean
}

export interface Downloaded {
  /** The name of the repository. */
  readonly repository: string
  readonly commit: string
  readonly out: string
  readonly files: readonly { readonly path: string; readonly sizeBytes: number }[]
  readonly bytes: number
  /** Whether the folder already existed, and how many tasks were duplicates; null if nothing was fetched. */
  readonly done: { readonly wasThere: boolean; readonly repeated: number } | null
}

export interface DownloadProgress {
  readonly done: { readonly files: number; readonly bytes: number }
  readonly total: { readonly files: number; readonly bytes: number }
}

/** Downloads a Hub repository, or its tasks, into a folder that appears whole or not at all. */
export async function downloadFromHub(
  request: DownloadRequest,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (progress: DownloadProgress) => void },
): Promise<Downloaded> {
  const { type } = request
  const target = parseTarget(request.repository, type)
  const out = request.out ?? basename(target.kind === 'hub' ? target.repo : target.path)
  const repository = openRepository(target, { env: process.env, signal }, type)
  const all = await explainDisk(out, () => openSnapshot(repository, request.revision ?? null))
  const tasks = request.tasks ? chooseTaskFiles(all, request.parquetName ?? null) : null
  const chosen = tasks?.snapshot ?? chooseFiles(all, request)
  const { commit, files, bytes } = chosen
  const total = { files: files.length, bytes }
  const how: DownloadOptions = {
    ...{ limitBytes: request.limitBytes, overwrite: request.overwrite, signal },
    onProgress: (done) => onProgress({ done, total }),
  }
  const fetch = async () =>
    tasks ? downloadTasks(tasks, out, how) : { wasThere: await downloadSnapshot(chosen, out, how), repeated: 0 }
  const done = request.dryRun ? null : await explainDisk(out, fetch)
  return { repository: repository.name, commit, out: resolve(out), files, bytes, done }
}

function chooseFiles(all: Snapshot, { parquetName, limitFileBytes = Number.POSITIVE_INFINITY }: DownloadRequest) {
  const named = parquetName === undefined ? all : chooseParquet(all, parquetName)
  return narrowed(named, ({ sizeBytes }) => sizeBytes <= limitFileBytes)
}
