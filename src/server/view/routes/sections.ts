import type { ViewSections } from '../../../core/view-board.ts'
import type { ViewRoute } from '../route.ts'

/** `/api/sections`: which parts of the viewer have content. */
export const sections: ViewRoute = async ({ library, board, writer }): Promise<ViewSections> => ({
  jobs: library.hasJobs,
  board: board !== null,
  tasks: library.hasJobs || !library.tasks.isEmpty,
  runs: writer !== null,
  data: library.data.list().datasets.length > 0,
})
