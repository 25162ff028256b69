import { viewJobs } from '../../../app/view/view-lists.ts'
import { listRequest, type ViewRoute } from '../route.ts'

/** `/api/jobs`: the list of jobs. */
export const jobs: ViewRoute = ({ library, query }) => viewJobs(library, listRequest(query))
