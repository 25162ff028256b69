import { h, svg } from '../dom.ts'
import { line, percent } from '../text.ts'

export interface ScatterPoint {
  readonly x: number
  readonly y: number
  readonly low: number
  readonly high: number
  readonly label: string
  /** Points of the same family are joined by a line. */
  readonly family: string | null
}

export interface ScatterSettings {
  readonly title: string
  readonly xTitle: string
  readonly xText: (x: number) => string
}

const height = 340
const room = { left: 46, right: 16, top: 12, bottom: 40 }

/** Shares over a logarithmic axis, with intervals. Redrawn when its container's width changes. */
export function scatterPlot(points: readonly ScatterPoint[], settings: ScatterSettings): HTMLElement {
  const place = h('div', { class: 'scatter' })
  let drawn = 0
  const observer = new ResizeObserver(([entry]) => {
    const width = Math.round(entry?.contentRect.width ?? 0)
    if (width === 0 || width === drawn) return
    drawn = width
    place.replaceChildren(draw(points, settings, width))
  })
  observer.observe(place)
  return place
}

function draw(points: readonly ScatterPoint[], { title, xTitle, xText }: ScatterSettings, width: number): SVGElement {
  const xs = points.map(({ x }) => Math.log(x))
  const [first, last] = [Math.min(...xs), Math.max(...xs)]
  const margin = Math.max(0.15, (last - first) * 0.08)
  const [from, until] = [first - margin, last + margin]
  const top = Math.min(1, niceCeiling(Math.max(0.1, ...points.map(({ high }) => high))))
  const x = (value: number) =>
    room.left + ((Math.log(value) - from) / (until - from)) * (width - room.left - room.right)
  const y = (share: number) => height - room.bottom - (Math.max(0, share) / top) * (height - room.top - room.bottom)
  const bottom = height - room.bottom
  const label = `${title}: ${points
    .slice(0, 40)
    .map((point) => `${line(point.label)}: ${percent(point.y)} at ${xText(point.x)}`)
    .join('; ')}`
  return svg(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': label, class: 'plot' },
    ...[0, 0.25, 0.5, 0.75, 1].map((share) => [
      svg('line', { x1: room.left, x2: width - room.right, y1: y(share * top), y2: y(share * top), class: 'axis' }),
      svg('text', { x: room.left - 6, y: y(share * top) + 4, class: 'end' }, `${Math.round(100 * share * top)} %`),
    ]),
    ...xTicks(
      points.map((point) => point.x),
      (value) => x(value),
    ).map((value) => [
      svg('line', { x1: x(value), x2: x(value), y1: bottom, y2: bottom + 4, class: 'tick' }),
      svg('text', { x: x(value), y: bottom + 17, class: 'middle' }, xText(value)),
    ]),
    svg('text', { x: (room.left + width - room.right) / 2, y: height - 5, class: 'middle' }, xTitle),
    ...families(points).map((family) =>
      svg('polyline', { points: family.map((point) => `${x(point.x)},${y(point.y)}`).join(' '), class: 'family' }),
    ),
    ...points.map((point) =>
      svg(
        'g',
        null,
        svg('title', null, `${line(point.label)}: ${percent(point.y)} at ${xText(point.x)}`),
        svg('line', { x1: x(point.x), x2: x(point.x), y1: y(point.low), y2: y(point.high), class: 'range' }),
        svg('circle', { cx: x(point.x), cy: y(point.y), r: 4, class: 'mean' }),
      ),
    ),
    ...labels(points, width, x, y),
  )
}

/** A name next to each point that has room for it. */
function labels(
  points: readonly ScatterPoint[],
  width: number,
  x: (value: number) => number,
  y: (share: number) => number,
): SVGElement[] {
  const taken = points.map((point) => box(x(point.x) - 4, y(point.y) - 5, 8))
  return points
    .toSorted((a, b) => b.y - a.y)
    .flatMap((point) => {
      const text = shortened(line(point.label))
      const wide = text.length * 6.2
      const [cx, cy] = [x(point.x), y(point.y)]
      const places = [
        { at: cx + 8, top: cy - 7 },
        { at: cx - 8 - wide, top: cy - 7 },
        { at: cx + 5, top: cy - 20 },
        { at: cx + 5, top: cy + 6 },
      ]
      const free = places.find(
        ({ at, top }) =>
          at >= room.left && at + wide <= width && top >= 0 && !taken.some((other) => meets(other, box(at, top, wide))),
      )
      if (!free) return []
      taken.push(box(free.at, free.top, wide))
      return [svg('text', { x: free.at, y: free.top + 11, class: 'name' }, text)]
    })
}

interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
}

function box(x: number, y: number, width: number): Box {
  return { x, y, width }
}

function meets(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + 14 && b.y < a.y + 14
}

function shortened(text: string): string {
  const name = text.split('/').at(-1) ?? text
  return name.length > 28 ? `${name.slice(0, 27)}…` : name
}

function families(points: readonly ScatterPoint[]): ScatterPoint[][] {
  const found = new Map<string, ScatterPoint[]>()
  for (const point of points)
    if (point.family !== null) found.set(point.family, [...(found.get(point.family) ?? []), point])
  return [...found.values()].map((family) => family.sort((a, b) => a.x - b.x)).filter(({ length }) => length > 1)
}

/** The values themselves if there are few; otherwise those far enough apart. */
function xTicks(values: readonly number[], x: (value: number) => number): number[] {
  const ticks: number[] = []
  for (const value of [...new Set(values)].sort((a, b) => a - b)) {
    const before = ticks.at(-1)
    if (before === undefined || x(value) - x(before) > 52) ticks.push(value)
  }
  return ticks
}

function niceCeiling(share: number): number {
  return Math.ceil(share * 10 - 1e-9) / 10
}
