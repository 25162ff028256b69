import { resolve } from 'node:path'
import { openRepository } from '../../formats/hub/open.ts'
import { parseTarget } from '../../formats/hub/target.ts'
import { type Uploaded, uploadFolder } from '../../formats/hub/upload.ts'
import type { UploadProgress } from '../../formats/hub/upload-progress.ts'
import { version } from '../../lib/version.ts'
import { explainDisk } from '../disk-errors.ts'
import { type ReadyDataset, withDataset } from './prepare.ts'

export type { Uploaded } from '../../formats/hub/upload.ts'

export interface UploadRequest {
  readonly dir: string
  /** `org/name`, or `file:PATH`. */
  readonly repository: string
  readonly type: 'dataset' | 'model'
  readonly isPrivate: boolean
  /** Removes everything else in the repository. */
  readonly replace: boolean
  /** Tasks and jobs as one parquet file. */
  readonly packed: boolean
  /** The commit message; absent: one that names this program. */
  readonly message?: string | undefined
  readonly branch: string
  /** Only reports, sends nothing. */
  readonly dryRun: boolean
}

export interface UploadControl {
  readonly signal: AbortSignal
  onProgress(progress: UploadProgress): void
  /** Called after a real upload while the folder that was sent still exists, so that it can be registered. */
  onDone?(sent: Pick<ReadyDataset, 'dir' | 'kind'>, done: Uploaded): Promise<void>
}

/** Uploads a folder to a Hub repository. Files already there are not sent again. */
export async function uploadToHub(
  { dir, repository, type, packed, message, ...how }: UploadRequest,
  { signal, onProgress, onDone }: UploadControl,
): Promise<Uploaded> {
  const target = parseTarget(repository, type)
  // A dry run on a machine without network must not hang.
  const patience = how.dryRun ? { tries: 2, firstWaitMs: 500, longestWaitMs: 500 } : undefined
  const madeBy = `ot-agent ${version()}`
  return explainDisk(dir, () =>
    withDataset(resolve(dir), { packed, signal }, async ({ unpacked = [], ...ready }) => {
      const done = await uploadFolder({
        ...{
          repository: openRepository(target, { env: process.env, signal, ...(patience && { patience }) }, type),
          ...ready,
          ...how,
        },
        ...{ message: message ?? `Upload with ${madeBy}`, madeBy, onProgress },
      })
      const uploaded = { ...done, leftOut: [...done.leftOut, ...unpacked] }
      if (!how.dryRun) await onDone?.(ready, uploaded)
      return uploaded
    }),
  )
}
