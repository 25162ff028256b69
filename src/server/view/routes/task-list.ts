import { viewTaskList } from '../../../app/view/tasks/view-task.ts'
import { listRequest, type ViewRoute } from '../route.ts'

/** `/api/tasks?q=&family=&difficulty=&check=`: the tasks in folders, packs and jobs. */
export const taskList: ViewRoute = ({ library, query }) => {
  const of = (name: string) => (query.get(name) ?? '').slice(0, 300)
  return viewTaskList(library, {
    ...listRequest(query),
    ...{ family: of('family'), difficulty: of('difficulty'), check: of('check') },
  })
}
