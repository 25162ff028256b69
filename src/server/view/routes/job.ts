import { viewJob } from '../../../app/view/view-lists.ts'
import { askedJob, type ViewRoute } from '../route.ts'

/** `/api/jobs/JOB`: the numbers of a job. */
export const job: ViewRoute = async (asked) => viewJob(await askedJob(asked))
