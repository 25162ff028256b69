import type { ViewJobRow } from '../../core/view.ts'
import type { JobDir } from '../../store/job-dir.ts'
import type { JobIndex } from './job-index.ts'

/** A job as the viewer holds it. */
export interface LibraryJob {
  readonly id: string
  readonly there: JobDir
  readonly row: ViewJobRow
  readonly index: JobIndex
}

/** The jobs that are shown. */
export interface LibraryJobs {
  /** A job by its id. Waits for its trials no longer than `waitMs`. */
  job(id: string, waitMs?: number): Promise<LibraryJob>
  /** Ids by the directory of the job. */
  idsByDir(): Promise<ReadonlyMap<string, string>>
}

/** What was asked for does not exist. */
export class NotHere extends Error {}

/** The address of a trial's page; null where its job is not shown. */
export async function trialLink(jobs: LibraryJobs, job: string, trial: string): Promise<string | null> {
  try {
    await jobs.job(job, 0)
    return `#/jobs/${encodeURIComponent(job)}/trials/${encodeURIComponent(trial)}`
  } catch (error) {
    if (error instanceof NotHere) return null
    throw error
  }
}
