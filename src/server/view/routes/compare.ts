import { viewComparison } from '../../../app/view/view-lists.ts'
import { UserError } from '../../../core/errors.ts'
import type { ViewRoute } from '../route.ts'

const mostJobs = 12

/** `/api/compare?job=A&job=B`: a side-by-side comparison of jobs. */
export const compare: ViewRoute = async ({ library, query }) => {
  const ids = [...new Set(query.getAll('job'))]
  if (ids.length > mostJobs)
    throw new UserError(`expected at most ${mostJobs} jobs to compare, got ${ids.length}`, 'choose fewer')
  return viewComparison(library, ids)
}
