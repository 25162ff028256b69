import type { ViewSimilarRows } from '../../src/core/view-data.ts'
import { get, isExport } from '../api.ts'
import { fill, h } from '../dom.ts'
import { type Page, to } from '../page.ts'
import { result } from '../pages/dataset.ts'
import { line, percent, plural, whole } from '../text.ts'

/** Near-duplicate rows, filled in when they are found. */
export function similarRows(page: Page, place: readonly string[], id: string): HTMLElement {
  const panel = h('div')
  void fillSimilar(page, place, id, panel)
  return panel
}

async function fillSimilar(page: Page, place: readonly string[], id: string, panel: HTMLElement): Promise<void> {
  const { rows, complete } = await get<ViewSimilarRows>([...place, 'similar'], {}, page.signal)
  if (page.signal.aborted) return
  const told = isExport ? 'of this export' : complete ? 'of this dataset' : 'of the rows read so far'
  fill(
    panel,
    h(
      'p',
      { class: 'lead' },
      rows.length === 0
        ? `No other row ${told} shares half of its sequences of five words with this one.`
        : `${plural(rows.length, 'row')} ${told} ${rows.length === 1 ? 'shares half or more of its' : 'share half or more of their'} sequences of five words with this one.`,
    ),
    rows.length > 0 &&
      h(
        'table',
        { class: 'list rows' },
        h('caption', { class: 'hidden' }, 'Similar rows'),
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            ...['Shared', 'Row', 'Task and question', 'Result'].map((text) => h('th', { scope: 'col' }, text)),
          ),
        ),
        h(
          'tbody',
          null,
          ...rows.map(({ row, similarity }) =>
            h(
              'tr',
              null,
              h('td', { class: 'num' }, percent(similarity)),
              h('td', { class: 'num dim' }, whole(row.number)),
              h(
                'td',
                { class: 'clip-line' },
                h(
                  'a',
                  { href: to(['data', id, 'rows', String(row.number)]) },
                  h('bdi', null, line(row.task ?? row.id ?? `row ${row.number}`)),
                ),
                h('span', { class: 'dim' }, '  ', h('bdi', null, line(row.begins))),
              ),
              h('td', null, result(row.result)),
            ),
          ),
        ),
      ),
  )
}
