import { numberOf, viewDataRow, viewRowText } from '../../../app/view/dataset-row.ts'
import { trialLink } from '../../../app/view/library-job.ts'
import { textOf, type ViewAsked, type ViewRoute, wholeOf } from '../route.ts'

async function asked({ library, names }: ViewAsked) {
  const opened = await library.data.dataset(names[0] ?? '')
  return { opened, number: await numberOf(opened, names[1] ?? '') }
}

/** `/api/data/SET/rows/ROW`: one row, by its number or by `=` followed by its id. */
export const datasetRow: ViewRoute = async (request) => {
  const { opened, number } = await asked(request)
  const linkOf = (job: string, trial: string) => trialLink(request.library, job, trial)
  const offset = wholeOf(request.query, 'offset', 0, Number.MAX_SAFE_INTEGER)
  return viewDataRow(opened, number, { offset, linkOf })
}

/** `/api/data/SET/rows/ROW/text?message=&part=&from=`: the rest of a long text. */
export const datasetRowText: ViewRoute = async (request) => {
  const { opened, number } = await asked(request)
  const most = Number.MAX_SAFE_INTEGER
  const [message, from] = [wholeOf(request.query, 'message', 0, most), wholeOf(request.query, 'from', 0, most)]
  return viewRowText(opened, number, { message, from, part: textOf(request.query, 'part') })
}

/** `/api/data/SET/rows/ROW/similar`: near-duplicates of a row. */
export const datasetSimilar: ViewRoute = async (request) => {
  const { opened, number } = await asked(request)
  const { index } = opened
  await index.wait(1000, () => index.complete)
  return { rows: index.similar(index.placeOf(number), 0.5, 20), complete: index.complete }
}
