import { viewDataRows } from '../../../app/view/dataset-lists.ts'
import { listRequest, type ViewRoute, wholeOf } from '../route.ts'

/** `/api/data/SET/rows?q=&result=&source=&turns=&tokens=`: matching rows and their distributions. */
export const datasetRows: ViewRoute = async ({ library, names, query }) => {
  const { dataset, index } = await library.data.dataset(names[0] ?? '')
  await index.wait(300)
  const most = Number.MAX_SAFE_INTEGER
  return viewDataRows(dataset, index, {
    ...listRequest(query),
    result: query.get('result') ?? '',
    source: query.get('source') ?? '',
    turns: [wholeOf(query, 'minTurns', 0, most), wholeOf(query, 'maxTurns', most, most)],
    tokens: [wholeOf(query, 'minTokens', 0, most), wholeOf(query, 'maxTokens', most, most)],
  })
}
