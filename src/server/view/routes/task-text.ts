import { viewTaskText } from '../../../app/view/tasks/view-task.ts'
import { windowBytes } from '../../../app/view/trial-dir-files.ts'
import { textOf, type ViewRoute, wholeOf } from '../route.ts'

/** `/api/tasks/TASK/text?path=&from=&bytes=`: a window of a file. */
export const taskText: ViewRoute = ({ library, names, query }) =>
  viewTaskText(library, names[0] ?? '', {
    path: textOf(query, 'path'),
    from: wholeOf(query, 'from', 0, Number.MAX_SAFE_INTEGER),
    bytes: wholeOf(query, 'bytes', windowBytes, windowBytes),
  })
