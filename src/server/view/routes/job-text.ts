import { NotHere } from '../../../app/view/library-job.ts'
import { readWindow, windowBytes } from '../../../app/view/trial-dir-files.ts'
import { jobFiles } from '../../../app/view/view-lists.ts'
import { askedJob, textOf, type ViewRoute, wholeOf } from '../route.ts'

/** `/api/jobs/JOB/text?path=`: a window of one of the job's own files. */
export const jobText: ViewRoute = async (asked) => {
  const { there } = await askedJob(asked)
  const path = textOf(asked.query, 'path')
  if (!jobFiles.includes(path)) throw new NotHere(`there is no file ${JSON.stringify(path.slice(0, 200))}`)
  const from = wholeOf(asked.query, 'from', 0, Number.MAX_SAFE_INTEGER)
  return readWindow(there.dir, path, from, wholeOf(asked.query, 'bytes', windowBytes, windowBytes))
}
