import type { ViewBoard, ViewBoardRow } from '../../src/core/view-board.ts'
import { h } from '../dom.ts'
import { type Page, to } from '../page.ts'
import { count, line, money, percent, plural } from '../text.ts'
import { type ScatterPoint, scatterPlot } from './scatter.ts'

const axes = [
  {
    ...{ key: 'size', title: 'Model size', xTitle: 'parameters', text: sizeText },
    value: ({ sizeB }: ViewBoardRow) => sizeB,
    family: ({ datasets, agent }: ViewBoardRow) => JSON.stringify([datasets, agent]),
  },
  {
    ...{ key: 'rows', title: 'Training data', xTitle: 'rows of training data', text: count },
    value: ({ trainingRows }: ViewBoardRow) => trainingRows,
    family: ({ base, agent }: ViewBoardRow) => JSON.stringify([base, agent]),
  },
  {
    ...{ key: 'cost', title: 'Cost', xTitle: 'cost of a trial', text: money },
    value: ({ cells }: ViewBoardRow, at: number) => {
      const cell = cells[at]
      return cell?.costUsd ? cell.costUsd / Math.max(1, cell.trials) : null
    },
    family: null,
  },
] as const

interface ShownBenchmark extends Pick<ViewBoard, 'benchmarks'> {
  /** The visible rows. */
  readonly rows: readonly ViewBoardRow[]
  /** Index of the benchmark. */
  readonly at: number
}

interface BoardPoint extends ScatterPoint {
  readonly row: ViewBoardRow
}

/** How mean reward on a benchmark grows with model size, training data and cost. */
export function boardPlots(page: Page, { benchmarks, rows, at }: ShownBenchmark, onChange: () => void): HTMLElement {
  const now = axes.find(({ key }) => key === page.query.get('x')) ?? axes[0]
  const points = rows.flatMap((row): BoardPoint[] => {
    const [cell, x] = [row.cells[at], now.value(row, at)]
    if (cell?.state !== 'finished' || !x) return []
    const { accuracy: y, low, high } = cell
    return [{ x, y, low, high, label: row.model ?? row.agent, family: now.family?.(row) ?? null, row }]
  })
  const select = h(
    'select',
    {
      'aria-label': 'Horizontal axis',
      onchange: () => {
        page.remember({ x: select.value })
        onChange()
      },
    },
    ...axes.map(({ key, title }) => h('option', { value: key, selected: key === now.key }, `Against: ${title}`)),
  )
  const title = `Mean reward on ${line(benchmarks[at]?.key ?? 'no benchmark')} against ${now.xTitle}`
  const unknown = rows.filter(({ cells }) => cells[at]?.state === 'finished').length - points.length
  return h(
    'section',
    null,
    h('div', { class: 'tools' }, h('h2', null, title), select),
    points.length === 0
      ? h('p', { class: 'dim' }, `No finished run has a known value: ${now.xTitle}.`)
      : scatterPlot(points, { title, xTitle: now.xTitle, xText: now.text }),
    unknown > 0 && h('p', { class: 'dim' }, `${plural(unknown, 'model')} without a known value not shown.`),
    points.length > 0 && numbersOf(points, now),
  )
}

/** The points of the plot as a table. */
function numbersOf(points: readonly BoardPoint[], { title, text }: (typeof axes)[number]): HTMLElement {
  const rowOf = ({ row, x, y }: BoardPoint) => {
    const href = row.model === null ? '#/board' : to(['models', row.model])
    return h(
      'tr',
      null,
      h('td', null, h('a', { href }, h('bdi', null, line(row.model ?? 'no model')))),
      h('td', { class: 'num' }, text(x)),
      h('td', { class: 'num' }, percent(y)),
    )
  }
  const heads = ['Model', title, 'Mean reward'].map((head) => h('th', { scope: 'col' }, head))
  return h(
    'details',
    null,
    h('summary', null, 'Values as a table'),
    h('table', { class: 'small' }, h('thead', null, h('tr', null, ...heads)), h('tbody', null, ...points.map(rowOf))),
  )
}

function sizeText(billions: number): string {
  return billions < 1 ? `${Math.round(billions * 1000)}M` : `${Number(billions.toFixed(1))}B`
}
