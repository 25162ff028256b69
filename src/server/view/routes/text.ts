import { readWindow, windowBytes } from '../../../app/view/trial-dir-files.ts'
import { askedTrialDir, textOf, type ViewRoute, wholeOf } from '../route.ts'

/** `/api/jobs/JOB/trials/TRIAL/text?path=&from=&bytes=`: a window of a file. */
export const text: ViewRoute = async (asked) => {
  const dir = await askedTrialDir(asked)
  const from = wholeOf(asked.query, 'from', 0, Number.MAX_SAFE_INTEGER)
  return readWindow(dir, textOf(asked.query, 'path'), from, wholeOf(asked.query, 'bytes', windowBytes, windowBytes))
}
