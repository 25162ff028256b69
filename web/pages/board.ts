import type { ViewBoard } from '../../src/core/view-board.ts'
import { address, get } from '../api.ts'
import { fill, h } from '../dom.ts'
import { go, type Page, to } from '../page.ts'
import { ablationTables } from '../parts/ablation.ts'
import { boardFilters, sentenceOf } from '../parts/board-filters.ts'
import { boardPlots } from '../parts/board-plots.ts'
import { matrixTable, rankTable } from '../parts/board-table.ts'
import { rowKeys } from '../parts/rows.ts'
import { makeTabs, searchBox } from '../parts/toolbar.ts'
import { plural } from '../text.ts'

/** The leaderboard: models by benchmarks, with intervals and ranks. */
export async function boardPage(page: Page): Promise<void> {
  const { main, query, signal } = page
  page.head([])
  const board = await get<ViewBoard>(['board'], {}, signal)
  let show = () => {}
  const search = searchBox(page, 'Search models, agents and datasets', () => show())
  const filters = boardFilters(page, board, () => show())
  const [sentence, body, foot] = [h('p', { class: 'why' }), h('div'), h('p', { class: 'foot' })]
  const chosen = () => {
    const at = board.benchmarks.findIndex(({ key }) => key === query.get('b'))
    return at < 0 && board.benchmarks.length === 1 ? 0 : at
  }
  const rowsNow = () => board.rows.filter((row) => filters.fits(row) && (chosen() < 0 || row.cells[chosen()]))
  const table = (panel: HTMLElement) => {
    const draw = () => {
      const [rows, at] = [rowsNow(), chosen()]
      sentence.textContent = sentenceOf(board, at)
      fill(body, at < 0 ? matrixTable(page, board, rows, draw) : rankTable(board, rows, at))
      foot.textContent = footOf(board, rows)
    }
    show = draw
    draw()
    panel.append(sentence, body, foot)
  }
  const plots = (panel: HTMLElement) => {
    const place = h('div')
    const shown = () => ({ benchmarks: board.benchmarks, rows: rowsNow(), at: Math.max(0, chosen()) })
    show = () => fill(place, boardPlots(page, shown(), show))
    show()
    panel.append(place)
  }
  const ablations = (panel: HTMLElement) => {
    show = () => {}
    panel.append(...board.ablations.map(ablationTables))
  }
  const tabs = makeTabs(page, [
    { id: 'table', title: 'Results', show: table },
    { id: 'plots', title: 'Scaling and cost', show: plots },
    ...(board.ablations.length === 0 ? [] : [{ id: 'ablations', title: 'Ablations', show: ablations }]),
  ])
  fill(
    main,
    h('div', { class: 'title' }, h('h1', null, 'Leaderboard'), saveLinks()),
    board.rows.length === 0 && board.ablations.length === 0
      ? h('p', { class: 'dim' }, 'The registry has no results yet: npx ot-agent registry ingest adds jobs.')
      : null,
    h('div', { class: 'tools' }, search, ...filters.controls),
    tabs.bar,
    tabs.panel,
  )
  page.keys([
    ...rowKeys(body, (row) => go(row.dataset.row ?? '')),
    { key: '/', does: 'search', run: () => search.querySelector('input')?.focus() },
    { key: '1', does: 'results', run: () => tabs.choose('table') },
    { key: '2', does: 'scaling and cost', run: () => tabs.choose('plots') },
    { key: 'Escape', does: 'all benchmarks', run: () => go(to(['board'])) },
  ])
  tabs.start()
}

function footOf({ rows: all }: ViewBoard, rows: ViewBoard['rows']): string {
  const partial = rows.some(({ cells }) => cells.some((cell) => cell?.state === 'partial'))
  return [
    `${rows.length} of ${plural(all.length, 'line')}.`,
    'Ranks are among all models; those that cannot be distinguished share one.',
    ...(partial ? ['Partial results have no rank.'] : []),
  ].join(' ')
}

function saveLinks(): HTMLElement {
  return h(
    'span',
    { class: 'dim' },
    'Save as ',
    h('a', { href: address(['board.csv']), download: 'leaderboard.csv' }, 'CSV'),
    ' ',
    h('a', { href: address(['board']), download: 'leaderboard.json' }, 'JSON'),
  )
}
