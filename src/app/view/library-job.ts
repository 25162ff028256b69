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

/** What was asked for does not exist. */
export class NotHere extends Error {}
