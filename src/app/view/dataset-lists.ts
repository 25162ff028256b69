import type { ViewDataRows, ViewDataset } from '../../core/view-data.ts'
import { type DataRequest, listDataRows } from '../../core/view-data-lists.ts'
import type { DatasetIndex } from './dataset-index.ts'

/** The rows of a dataset that match a request, with their distributions. */
export function viewDataRows(dataset: ViewDataset, index: DatasetIndex, ask: DataRequest): ViewDataRows {
  const { rows, complete, trouble } = index
  const isSearch = ask.q.trim() !== ''
  // A text without words matches no row.
  const hits = isSearch ? (index.search(ask.q) ?? []) : null
  return {
    ...{ dataset, ...listDataRows(rows, hits, ask), complete, trouble, indexed: rows.length },
    rows: complete ? rows.length : index.source.total,
  }
}
