import type { ViewJobRow } from '../../core/view.ts'
import type { JobDir } from '../../store/job-dir.ts'
import type { JobIndex } from './job-index.ts'

/** A job in the viewer. */
export interface LibraryJob {
  readonly id: string
  readonly there: JobDir
  readonly row: ViewJobRow
  readonly index: JobIndex
}

/** The displayed jobs. */
export interface LibraryJobs {
  /** Finds a job by id. Waits at most `waitMs` for its trials. */
  job(id: string, waitMs?: number): Promise<LibraryJob>
  /** Job ids by directory. */
  idsByDir(): Promise<ReadonlyMap<string, string>>
}

/** The requested thing does not exist. */
export class NotHere extends Error {}

/** The URL of a trial's page; null if its job is not shown. */
export async function trialLink(jobs: LibraryJobs, job: string, trial: string): Promise<string | null> {
  try {
    await jobs.job(job, 0)
    return `#/jobs/${encodeURIComponent(job)}/trials/${encodeURIComponent(trial)}`
  } catch (error) {
    if (error instanceof NotHere) return null
    throw error
  }
}
