import { viewTask } from '../../../app/view/tasks/view-task.ts'
import type { ViewRoute } from '../route.ts'

/** `/api/tasks/TASK`: a task's files, checks and solve rates. */
export const task: ViewRoute = ({ library, names }) => viewTask(library, names[0] ?? '')
