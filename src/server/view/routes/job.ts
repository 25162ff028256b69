import { viewJob } from '../../../app/view/view-lists.ts'
import { askedJob, type ViewRoute } from '../route.ts'

/** `/api/jobs/JOB`: a job's numbers. */
export const job: ViewRoute = async (asked) => viewJob(await askedJob(asked))
