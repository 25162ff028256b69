import { viewTaskTrials } from '../../../app/view/tasks/view-task.ts'
import { listRequest, type ViewRoute } from '../route.ts'

/** `/api/tasks/TASK/trials`: its trials in the jobs that are shown. */
export const taskTrials: ViewRoute = ({ library, names, query }) =>
  viewTaskTrials(library, names[0] ?? '', listRequest(query))
