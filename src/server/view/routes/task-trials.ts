import { viewTaskTrials } from '../../../app/view/tasks/view-task.ts'
import { listRequest, type ViewRoute } from '../route.ts'

/** `/api/tasks/TASK/trials`: a task's trials in the displayed jobs. */
export const taskTrials: ViewRoute = ({ library, names, query }) =>
  viewTaskTrials(library, names[0] ?? '', listRequest(query))
