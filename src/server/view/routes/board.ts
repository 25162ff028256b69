import { boardCsv } from '../../../app/view/board.ts'
import { NotHere } from '../../../app/view/library-job.ts'
import type { ViewAsked, ViewRoute } from '../route.ts'

/** `/api/board`: the leaderboard. */
export const board: ViewRoute = async (asked) => boardOf(asked).board(await asked.library.idsByDir())

/** `/api/board.csv`: the same as a file. */
export const csv: ViewRoute = async (asked) => {
  const text = boardCsv(await boardOf(asked).board(await asked.library.idsByDir()))
  asked.response.writeHead(200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="leaderboard.csv"',
  })
  asked.response.end(text)
  return undefined
}

/** The viewer's leaderboard; an error if there is none. */
export function boardOf({ board: own }: ViewAsked) {
  if (own === null) throw new NotHere('this viewer has no registry: start it with --registry')
  return own
}
