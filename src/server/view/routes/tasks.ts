import { viewTasks } from '../../../app/view/view-lists.ts'
import { askedJob, listRequest, type ViewRoute } from '../route.ts'

/** `/api/jobs/JOB/tasks`: the task-by-attempt grid. */
export const tasks: ViewRoute = async (asked) => viewTasks(await askedJob(asked), listRequest(asked.query))
