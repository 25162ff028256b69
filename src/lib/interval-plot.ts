import { line, type PlotText, short, svg, width, words } from './plot.ts'

/** A value with its interval. */
export interface PlottedInterval {
  readonly label: string
  readonly mean: number
  readonly low: number
  readonly high: number
}

const rowHeight = 26
const labelWidth = 250
const top = 36

export interface IntervalPlotText extends PlotText {
  /** `percent` (default): fractions, shown times 100. `number`: shown as they are. */
  readonly unit?: 'percent' | 'number'
}

/** An SVG document of values with their intervals, one per line. A vertical line marks `zero` if it is in range. */
export function intervalPlot(
  items: readonly PlottedInterval[],
  { title, axis, unit = 'percent' }: IntervalPlotText,
): string {
  const tall = top + Math.max(1, items.length) * rowHeight + 44
  const [from, to] = unit === 'percent' ? rangeOf(items) : plainRangeOf(items)
  const inner = width - labelWidth - 30
  const x = (value: number) => labelWidth + ((value - from) / (to - from)) * inner
  const middle = labelWidth + inner / 2
  const bottom = tall - 40
  const ticks = ticksOf(from, to).flatMap((value) => [
    line(x(value), top, x(value), bottom),
    words(
      x(value),
      bottom + 14,
      unit === 'percent' ? `${Number((value * 100).toPrecision(6))}` : short(value),
      'middle',
    ),
  ])
  const rows = items.flatMap(({ label, mean, low, high }, i) => {
    const y = top + (i + 0.5) * rowHeight
    const shown = label.length > 38 ? `${label.slice(0, 37)}…` : label
    return [
      words(labelWidth - 8, y + 4, shown, 'end'),
      `<line x1="${x(low)}" y1="${y}" x2="${x(high)}" y2="${y}" stroke="#4477aa" stroke-width="2"/>`,
      ...[low, high].map(
        (end) => `<line x1="${x(end)}" y1="${y - 5}" x2="${x(end)}" y2="${y + 5}" stroke="#4477aa" stroke-width="2"/>`,
      ),
      `<circle cx="${x(mean)}" cy="${y}" r="4" fill="#4477aa"/>`,
    ]
  })
  const zero = from < 0 && to > 0 ? [`<line x1="${x(0)}" y1="${top}" x2="${x(0)}" y2="${bottom}" stroke="#999"/>`] : []
  return svg(tall, middle, title, [...ticks, ...zero, ...rows, words(middle, tall - 8, axis, 'middle')])
}

/** 0 to 1 for scores; around 0 for differences. */
function rangeOf(items: readonly PlottedInterval[]): readonly [number, number] {
  const low = Math.min(0, ...items.map((item) => item.low))
  const high = Math.max(...items.map((item) => item.high), low < 0 ? 0.05 : 1)
  return [low < 0 ? Math.min(low, -0.05) : 0, high]
}

/** From 0, or from the lowest value if that is below 0, to the highest. */
function plainRangeOf(items: readonly PlottedInterval[]): readonly [number, number] {
  const low = Math.min(0, ...items.map((item) => item.low))
  const high = Math.max(0, ...items.map((item) => item.high))
  return [low, high > low ? high : low + 1]
}

/** Round numbers, at most a dozen. */
function ticksOf(from: number, to: number): number[] {
  const power = 10 ** Math.floor(Math.log10((to - from) / 10))
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => (to - from) / each <= 10) ?? to - from
  const first = Math.ceil(from / step - 1e-9)
  const count = Math.floor(to / step + 1e-9) - first + 1
  return Array.from({ length: Math.min(12, Math.max(0, count)) }, (_, i) => (first + i) * step)
}
