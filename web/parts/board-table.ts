import type { ViewBoard, ViewBoardCell, ViewBoardRow } from '../../src/core/view-board.ts'
import { type Child, h } from '../dom.ts'
import { type Page, to } from '../page.ts'
import { count, line, money, percent, time, whole } from '../text.ts'
import { intervalPlot } from './plots.ts'
import { sortHeads } from './toolbar.ts'

/** One benchmark: a row for each model with rank, interval and cost. */
export function rankTable({ benchmarks }: ViewBoard, rows: readonly ViewBoardRow[], at: number): HTMLElement {
  const found = rows
    .flatMap((row) => {
      const cell = row.cells[at]
      return cell ? [{ row, cell }] : []
    })
    .sort((a, b) => order(a.cell, b.cell))
  return h(
    'table',
    { class: 'list board' },
    h('caption', { class: 'hidden' }, `Results on ${line(benchmarks[at]?.key ?? '')}`),
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        h('th', { scope: 'col' }, 'Rank'),
        h('th', { scope: 'col' }, 'Model and agent'),
        h('th', { scope: 'col' }, 'Mean reward'),
        ...['95 % interval', 'Trials', 'Failed', 'Cost', 'Started'].map((text) =>
          h('th', { scope: 'col', class: 'wide-only' }, text),
        ),
      ),
    ),
    h(
      'tbody',
      null,
      ...found.map(({ row, cell }) =>
        h(
          'tr',
          { 'data-row': linkOf(row) },
          h('td', { class: 'num rank' }, rankOf(cell)),
          h('td', { class: 'clip' }, nameOf(row)),
          h(
            'td',
            { class: 'num' },
            h('span', { class: 'strong' }, percent(cell.accuracy)),
            h('span', { class: 'dim narrow-only' }, rangeText(cell)),
          ),
          h(
            'td',
            { class: 'num wide-only' },
            intervalPlot({ ...cell, mean: cell.accuracy }),
            h('span', { class: 'dim' }, rangeText(cell)),
          ),
          h('td', { class: 'num wide-only' }, whole(cell.trials)),
          h('td', { class: 'num wide-only' }, cell.failed === 0 ? '–' : whole(cell.failed)),
          h('td', { class: 'num wide-only' }, money(cell.costUsd)),
          h('td', { class: 'time wide-only' }, startOf(cell)),
        ),
      ),
      found.length === 0 && h('tr', null, h('td', { colspan: 8, class: 'empty' }, 'No model matches.')),
    ),
  )
}

/** All benchmarks: a column for each. */
export function matrixTable(
  page: Page,
  { benchmarks }: ViewBoard,
  rows: readonly ViewBoardRow[],
  onSort: () => void,
): HTMLElement {
  const sort = page.query.get('sort') ?? ''
  const at = benchmarks.findIndex(({ key }) => `:${key}` === sort.replace(/^-/, ''))
  const sign = sort.startsWith('-') ? 1 : -1
  const value = ({ cells }: ViewBoardRow) => cells[at]?.accuracy ?? -1
  const sorted = at < 0 ? rows : rows.toSorted((a, b) => sign * (value(b) - value(a)))
  const columns = benchmarks.map(({ key }) => [`:${key}`, line(key)] as const)
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Results on all benchmarks' },
    h(
      'table',
      { class: 'list board matrix' },
      h('caption', { class: 'hidden' }, 'Results on all benchmarks'),
      h(
        'thead',
        null,
        h('tr', null, h('th', { scope: 'col' }, 'Model and agent'), ...sortHeads(page, columns, onSort)),
      ),
      h(
        'tbody',
        null,
        ...sorted.map((row) =>
          h(
            'tr',
            { 'data-row': linkOf(row) },
            h('th', { scope: 'row', class: 'model' }, nameOf(row)),
            ...row.cells.map((cell) =>
              h('td', { class: 'num' }, cell ? cellOf(cell) : h('span', { class: 'dim' }, '–')),
            ),
          ),
        ),
        rows.length === 0 &&
          h('tr', null, h('td', { colspan: benchmarks.length + 1, class: 'empty' }, 'No model matches.')),
      ),
    ),
  )
}

function cellOf(cell: ViewBoardCell): Child {
  return [
    h('span', { class: 'strong' }, percent(cell.accuracy)),
    ' ',
    rankOf(cell),
    h('span', { class: 'dim range-text' }, rangeText(cell)),
  ]
}

/** A rank, with a note if it is shared or unavailable. */
export function rankOf({ state, rank, tied }: ViewBoardCell): HTMLElement {
  if (state === 'partial')
    return h('span', { class: 'badge partial', title: 'not all trials have a result: no rank' }, 'partial')
  if (rank === null) return h('span', { class: 'dim', title: 'not compared' }, '–')
  const title = tied ? 'shared: these models cannot be distinguished' : 'known to be different from all others'
  return h('span', { class: 'rank', title }, tied ? `${rank} tie` : String(rank))
}

export function rangeText({ low, high }: ViewBoardCell): string {
  return ` ${(100 * low).toFixed(1)} to ${percent(high)}`
}

function nameOf(row: ViewBoardRow): Child {
  const text = line(row.model ?? 'no model')
  const name = h('bdi', { title: text }, text.length > 100 ? `${text.slice(0, 99)}…` : text)
  const size = row.sizeB === null ? [] : [`${count(row.sizeB)}B`]
  return [
    row.model === null ? name : h('a', { href: linkOf(row) }, name),
    h('span', { class: 'dim sub' }, [...size, line(row.agent)].join(' · ')),
  ]
}

function linkOf({ model }: ViewBoardRow): string {
  return model === null ? '#/board' : to(['models', model])
}

function startOf(cell: ViewBoardCell): Child {
  const text = time(cell.startedAt)
  return cell.job === null ? text : h('a', { href: to(['jobs', cell.job]) }, text)
}

function order(a: ViewBoardCell, b: ViewBoardCell): number {
  if (a.state !== b.state) return a.state === 'finished' ? -1 : 1
  return (a.rank ?? 1e9) - (b.rank ?? 1e9) || b.accuracy - a.accuracy
}
