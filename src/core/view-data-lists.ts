import type { ViewBin, ViewDataRow, ViewDataRows } from './view-data.ts'

export interface DataRequest {
  readonly offset: number
  readonly limit: number
  /** Words that a row must contain. */
  readonly q: string
  readonly sort: string
  readonly descending: boolean
  readonly result: string
  readonly source: string
  readonly turns: readonly [least: number, most: number]
  readonly tokens: readonly [least: number, most: number]
}

/** The label under which rows without a value are listed. */
const noValue = '(none)'

/** One page of the rows that match, and how all matching rows are distributed. */
export type DataMatches = Pick<ViewDataRows, 'items' | 'offset' | 'total' | 'turns' | 'tokens' | 'results' | 'sources'>

/**
 * The rows that match a request. `hits`: 1 or 0 for each row, whether it contains the words; null when none were asked
 * for.
 */
export function listDataRows(
  rows: readonly ViewDataRow[],
  hits: ArrayLike<number> | null,
  ask: DataRequest,
): DataMatches {
  const found = rows.filter((row, i) => (hits === null || hits[i] === 1) && matches(row, ask))
  const compare = Object.hasOwn(orders, ask.sort) ? orders[ask.sort] : undefined
  if (compare) found.sort(ask.descending ? (a, b) => compare(b, a) : compare)
  return {
    items: found.slice(ask.offset, ask.offset + ask.limit),
    ...{ offset: ask.offset, total: found.length },
    turns: binsOf(found.map(({ turns }) => turns)),
    tokens: binsOf(found.map(({ tokens }) => tokens)),
    results: commonest(found.map(({ result }) => result)),
    sources: commonest(found.map(({ source }) => source)),
  }
}

/** True when all rows are wanted in their order. */
export function isPlainData(ask: DataRequest): boolean {
  const { q, sort, result, source, turns, tokens } = ask
  const isOpen = ([least, most]: readonly [number, number]) => least === 0 && most === Number.MAX_SAFE_INTEGER
  return `${q.trim()}${sort}${result}${source}` === '' && isOpen(turns) && isOpen(tokens)
}

function matches(row: ViewDataRow, { result, source, turns, tokens }: DataRequest): boolean {
  if (row.turns < turns[0] || row.turns > turns[1] || row.tokens < tokens[0] || row.tokens > tokens[1]) return false
  return (result === '' || (row.result ?? noValue) === result) && (source === '' || (row.source ?? noValue) === source)
}

type Compare = (a: ViewDataRow, b: ViewDataRow) => number
const byText =
  (of: (row: ViewDataRow) => string | null): Compare =>
  (a, b) => {
    const [left, right] = [of(a) ?? '', of(b) ?? '']
    return left < right ? -1 : left > right ? 1 : a.number - b.number
  }
const orders: Readonly<Record<string, Compare>> = {
  turns: (a, b) => a.turns - b.turns || a.number - b.number,
  tokens: (a, b) => a.tokens - b.tokens || a.number - b.number,
  task: byText(({ task }) => task),
  source: byText(({ source }) => source),
  result: byText(({ result }) => result),
  model: byText(({ model }) => model),
}

const mostBins = 24

/** Numbers in bins of one round width; the few largest share the last bin. */
export function binsOf(values: readonly number[]): ViewBin[] {
  if (values.length === 0) return []
  const sorted = Float64Array.from(values).sort()
  const [low, max] = [sorted[0] ?? 0, sorted.at(-1) ?? 0]
  const high = sorted[Math.floor(0.98 * (sorted.length - 1))] ?? 0
  const width = roundUp((high - low + 1) / mostBins)
  const first = Math.floor(low / width) * width
  const count = Math.floor((high - first) / width) + 1
  const rows = new Array<number>(count + 1).fill(0)
  for (const value of sorted) {
    const bin = Math.min(count, Math.floor((value - first) / width))
    rows[bin] = (rows[bin] ?? 0) + 1
  }
  const bins = rows.slice(0, count).map((n, i) => ({ from: first + i * width, to: first + (i + 1) * width, rows: n }))
  return max >= first + count * width
    ? [...bins, { from: first + count * width, to: null, rows: rows[count] ?? 0 }]
    : bins
}

/** The next number that is 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  if (value <= 1) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= value) ?? 10 * power
}

const mostValues = 50

function commonest(values: readonly (string | null)[]): (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value ?? noValue, (counts.get(value ?? noValue) ?? 0) + 1)
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).slice(0, mostValues)
}
