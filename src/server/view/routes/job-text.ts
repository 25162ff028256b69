import { NotHere } from '../../../app/view/library-job.ts'
import { readWindow, windowBytes } from '../../../app/view/trial-dir-files.ts'
import { askedJob, textOf, type ViewRoute, wholeOf } from '../route.ts'

const shown = ['config.json', 'lock.json', 'result.json', 'job.json', 'job.log', 'spend.jsonl']

/** `/api/jobs/JOB/text?path=`: a window of one of the job's own files. */
export const jobText: ViewRoute = async (asked) => {
  const { there } = await askedJob(asked)
  const path = textOf(asked.query, 'path')
  if (!shown.includes(path)) throw new NotHere(`there is no file ${JSON.stringify(path.slice(0, 200))}`)
  const from = wholeOf(asked.query, 'from', 0, Number.MAX_SAFE_INTEGER)
  return readWindow(there.dir, path, from, wholeOf(asked.query, 'bytes', windowBytes, windowBytes))
}
