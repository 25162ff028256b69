import { packJob } from '../../store/packed/pack-job.ts'
import { unpackJob } from '../../store/packed/unpack-job.ts'
import { unpackLogs } from '../../store/packed/unpack-logs.ts'
import { explainDisk } from '../disk-errors.ts'
import { findJob } from './find-job.ts'

/** How a caller follows the work. */
interface Follower {
  readonly signal: AbortSignal
  readonly onProgress: (done: number) => void
}

/** Packs a job's trial directories into a few files. */
export async function packTrials(given: string, jobsDir: string, follower: Follower) {
  const { dir } = await findJob(given, jobsDir)
  return { job: dir, ...(await explainDisk(dir, () => packJob(dir, follower))) }
}

/** Unpacks the jobs of a parquet file made by hub upload into a jobs directory. */
export async function unpackJobFile(file: string, jobsDir: string, follower: Follower) {
  return explainDisk(jobsDir, () => unpackLogs(file, jobsDir, follower))
}

/** Unpacks a packed job into trial directories. `before` is its previous layout. */
export async function unpackTrials(given: string, jobsDir: string, follower: Follower) {
  const { dir, layout: before } = await findJob(given, jobsDir)
  return { before, unpacked: { job: dir, ...(await explainDisk(dir, () => unpackJob(dir, follower))) } }
}
