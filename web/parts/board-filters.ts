import type { ViewBoard, ViewBoardRow } from '../../src/core/view-board.ts'
import { h } from '../dom.ts'
import type { Page } from '../page.ts'
import { line, percent } from '../text.ts'

const sizes = [
  ['4', 'up to 4B', 0, 4],
  ['16', '4B to 16B', 4, 16],
  ['80', '16B to 80B', 16, 80],
  ['more', 'over 80B', 80, Number.POSITIVE_INFINITY],
] as const

interface Filter {
  readonly key: string
  readonly label: string
  readonly options: readonly (readonly [value: string, text: string])[]
  readonly fits: (row: ViewBoardRow, value: string) => boolean
}

/** Controls that narrow the leaderboard; those with nothing to choose from are left out. */
export function boardFilters(page: Page, board: ViewBoard, onChange: () => void) {
  const names = (of: (row: ViewBoardRow) => readonly (string | null)[]) =>
    [...new Set(board.rows.flatMap(of).filter((name) => name !== null))]
      .sort()
      .map((name) => [name, line(name)] as const)
  const filters: Filter[] = [
    {
      ...{ key: 'b', label: 'Benchmark', fits: () => true },
      options: board.benchmarks.map(({ key }) => [key, line(key)] as const),
    },
    {
      ...{ key: 'size', label: 'Size' },
      options: sizes
        .filter(([, , from, until]) => board.rows.some((row) => isWithin(row, from, until)))
        .map(([value, text]) => [value, text] as const),
      fits: (row, value) => sizes.some(([key, , from, until]) => key === value && isWithin(row, from, until)),
    },
    {
      ...{ key: 'base', label: 'Base model', options: names(({ base }) => [base]) },
      fits: ({ base, model }, value) => base === value || model === value,
    },
    {
      ...{ key: 'dataset', label: 'Dataset', options: names(({ datasets }) => datasets) },
      fits: ({ datasets }, value) => datasets.includes(value),
    },
    {
      ...{ key: 'agent', label: 'Agent', options: names(({ agent }) => [agent]) },
      fits: ({ agent }, value) => agent === value,
    },
  ]
  const shown = filters.filter(({ options, key }) => options.length > (key === 'base' || key === 'dataset' ? 0 : 1))
  return {
    controls: shown.map((filter) => control(page, filter, onChange)),
    fits(row: ViewBoardRow): boolean {
      const words = (page.query.get('q') ?? '').toLowerCase().split(/\s+/).filter(Boolean)
      const text = [row.model ?? '', row.agent, row.base ?? '', ...row.datasets].join('\n').toLowerCase()
      return (
        words.every((word) => text.includes(word)) &&
        shown.every(({ key, fits }) => {
          const value = page.query.get(key)
          return value === null || value === '' || fits(row, value)
        })
      )
    },
  }
}

function control(page: Page, { key, label, options }: Filter, onChange: () => void): HTMLElement {
  const now = page.query.get(key) ?? ''
  const select = h(
    'select',
    {
      'aria-label': label,
      onchange: () => {
        page.remember({ [key]: select.value })
        onChange()
      },
    },
    h('option', { value: '' }, `${label}: all`),
    ...options.map(([value, text]) => h('option', { value, selected: value === now }, text)),
  )
  return select
}

function isWithin({ sizeB }: ViewBoardRow, from: number, until: number): boolean {
  return sizeB !== null && sizeB > from && sizeB <= until
}

/** What a reader wants to know first: which model leads, and how sure that is. */
export function sentenceOf({ benchmarks, rows }: ViewBoard, at: number): string {
  if (benchmarks.length === 0) return 'No run is registered.'
  const leaders = benchmarks
    .map(({ key }, i) => ({ key, first: rows.filter(({ cells }) => cells[i]?.rank === 1), i }))
    .filter(({ i }) => at < 0 || i === at)
  const sentences = leaders.slice(0, 3).map(({ key, first, i }) => {
    const best = first.toSorted((a, b) => (b.cells[i]?.accuracy ?? 0) - (a.cells[i]?.accuracy ?? 0))[0]
    if (!best) return `No run of ${line(key)} is finished.`
    const name = `${line(best.model ?? 'no model')} with ${line(best.agent)}`
    const score = percent(best.cells[i]?.accuracy ?? 0)
    if (first.length === 1) return `${name} leads ${line(key)} with ${score}.`
    const others = first.length - 1
    return `On ${line(key)} ${name} has ${score}, and ${others === 1 ? 'one other cannot' : `${others} others cannot`} be distinguished from it.`
  })
  const rest = leaders.length > 3 ? ` Choose a benchmark to see the other ${leaders.length - 3}.` : ''
  return `${sentences.join(' ')}${rest}`
}
