import { viewTrials } from '../../../app/view/view-lists.ts'
import { askedJob, listRequest, type ViewRoute } from '../route.ts'

/** `/api/jobs/JOB/trials`: the trials of a job. */
export const trials: ViewRoute = async (asked) => viewTrials(await askedJob(asked), listRequest(asked.query))
