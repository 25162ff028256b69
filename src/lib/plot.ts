/** Escapes any text for an SVG or HTML document. */
export function escapeMarkup(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Surrogate}\ufffe\uffff]+/gu, ' ')
    .replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

export interface PlotText {
  readonly title: string
  /** What the values are, with their unit. */
  readonly axis: string
}

export interface Bin {
  readonly from: number
  readonly to: number
  readonly count: number
}

/** Values counted in bins of equal, round width. */
export function binsOf(values: readonly number[], most = 24): Bin[] {
  const known = values.filter(Number.isFinite)
  if (known.length === 0) return []
  const [low, high] = known.reduce(([min, max], value) => [Math.min(min, value), Math.max(max, value)], [
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ] as const)
  // Differences below the precision of numbers of this size do not count.
  const noise = Math.max(Math.abs(low), Math.abs(high), 1e-280) * 1e-12
  const step = roundStep(high - low > noise ? (high - low) / most : 0, known.every(Number.isInteger))
  const start = Math.floor(low / step) * step
  const length = Math.floor((high - start) / step) + 1
  const counts = new Array<number>(length).fill(0)
  for (const value of known) {
    const at = Math.max(0, Math.min(length - 1, Math.floor((value - start) / step)))
    counts[at] = (counts[at] ?? 0) + 1
  }
  return counts.map((count, i) => ({ from: round(start + i * step), to: round(start + (i + 1) * step), count }))
}

export const width = 640
const height = 320
const margin = { left: 60, right: 20, top: 36, bottom: 48 }
const middle = (margin.left + width - margin.right) / 2

/** A histogram as an SVG document. */
export function histogram(values: readonly number[], { title, axis }: PlotText): string {
  const bins = binsOf(values)
  if (bins.length === 0) return svg(height, middle, title, [words(middle, height / 2, 'no values', 'middle')])
  const [inner, tall] = [width - margin.left - margin.right, height - margin.top - margin.bottom]
  const top = roundUp(Math.max(...bins.map(({ count }) => count)), [1, 2, 3, 4, 6, 8, 10])
  const wide = inner / bins.length
  const boxes = bins.map(({ from, to, count }, i) => {
    const high = (count / top) * tall
    const at = margin.left + i * wide
    return box(
      { x: at + 0.5, y: margin.top + tall - high, wide: Math.max(wide - 1, 0.5), tall: high },
      `${short(from)} to ${short(to)}: ${count}`,
    )
  })
  const every = Math.ceil(bins.length / 8)
  const marks = bins
    .filter((_, i) => i % every === 0)
    .map(({ from }, i) => words(margin.left + i * every * wide, height - margin.bottom + 16, short(from), 'middle'))
  const grid = [0, 0.5, 1].flatMap((share) => {
    const y = margin.top + tall * (1 - share)
    return [line(margin.left, y, width - margin.right, y), words(margin.left - 6, y + 4, short(top * share), 'end')]
  })
  return svg(height, middle, title, [...grid, ...boxes, ...marks, words(middle, height - 10, axis, 'middle')])
}

export interface Bar {
  readonly label: string
  readonly value: number
}

const rowHeight = 22
const labelWidth = 250

/** An SVG document of horizontal bars with labels and values, in the given order. */
export function bars(items: readonly Bar[], { title, axis }: PlotText): string {
  const tall = margin.top + Math.max(1, items.length) * rowHeight + 30
  const top = Math.max(...items.map(({ value }) => value), 0) || 1
  const inner = width - labelWidth - 70
  const middle = labelWidth + inner / 2
  const parts = items.flatMap(({ label, value }, i) => {
    const y = margin.top + i * rowHeight
    const long = (Math.max(0, value) / top) * inner
    return [
      words(labelWidth - 8, y + 15, label.length > 38 ? `${label.slice(0, 37)}…` : label, 'end'),
      box({ x: labelWidth, y: y + 3, wide: long, tall: rowHeight - 6 }, `${label}: ${value}`),
      words(labelWidth + long + 6, y + 15, short(value), 'start'),
    ]
  })
  const empty = items.length === 0 ? [words(middle, margin.top + 15, 'no values', 'middle')] : []
  return svg(tall, middle, title, [...parts, ...empty, words(middle, tall - 8, axis, 'middle')])
}

/** The minimum width of a letter in a title, on average. */
const letterWidth = 7

/** An SVG document of the usual width. Its title is centred above the axes, unless it is too long for that. */
export function svg(tall: number, middle: number, title: string, parts: readonly string[]): string {
  const half = Math.min(width, title.length * letterWidth) / 2
  const x = Math.max(half, Math.min(middle, width - half))
  const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${tall}" viewBox="0 0 ${width} ${tall}" font-family="sans-serif" font-size="12" role="img">`
  const name = `<title>${escapeMarkup(title)}</title><rect width="${width}" height="${tall}" fill="#fff"/>`
  const heading = `<text x="${round(x)}" y="20" text-anchor="middle" font-size="14" fill="#111">${escapeMarkup(title)}</text>`
  return `${head}${name}${heading}${parts.join('')}</svg>\n`
}

/** Any text, escaped. */
export function words(x: number, y: number, text: string, anchor: 'start' | 'middle' | 'end'): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" fill="#333">${escapeMarkup(text)}</text>`
}

interface Rectangle {
  readonly x: number
  readonly y: number
  readonly wide: number
  readonly tall: number
}

/** A filled box with a tooltip. */
function box({ x, y, wide, tall }: Rectangle, tip: string): string {
  const at = `x="${round(x)}" y="${round(y)}" width="${round(wide)}" height="${round(tall)}"`
  return `<rect ${at} fill="#4477aa"><title>${escapeMarkup(tip)}</title></rect>`
}

/** A thin line of the grid. */
export function line(x1: number, y1: number, x2: number, y2: number): string {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="#ddd"/>`
}

/** 1, 2 or 5 times a power of ten, at least `least`; whole when the values are. */
function roundStep(least: number, whole: boolean): number {
  if (!(least > 0)) return 1
  const step = roundUp(least, [1, 2, 5, 10])
  return whole ? Math.max(1, Math.ceil(step)) : step
}

/** The smallest of these times a power of ten that is at least `least`. */
function roundUp(least: number, times: readonly number[]): number {
  const power = 10 ** Math.floor(Math.log10(least))
  return (times.find((each) => each * power >= least * 0.999) ?? 10) * power
}

/** Rounds off the noise of binary fractions. */
function round(value: number): number {
  return Number(value.toPrecision(15))
}

/** A number for an axis: 1200 is 1.2k. */
export function short(value: number): string {
  const size = Math.abs(value)
  if (size >= 1e9) return `${round(Number((value / 1e9).toPrecision(3)))}G`
  if (size >= 1e6) return `${round(Number((value / 1e6).toPrecision(3)))}M`
  if (size >= 1e3) return `${round(Number((value / 1e3).toPrecision(3)))}k`
  return String(round(Number(value.toPrecision(3))))
}
