import type { ViewMean, ViewSpread } from '../../src/core/view.ts'
import { h, svg } from '../dom.ts'
import { duration, percent } from '../text.ts'

/** A mean with its interval on a line from `from` to `until`. */
export function intervalPlot({ mean, low, high }: ViewMean, from = 0, until = 1): SVGElement {
  const x = (value: number) => 4 + 132 * Math.min(1, Math.max(0, (value - from) / (until - from)))
  const label = `${percent(mean)}, 95 % interval ${percent(low)} to ${percent(high)}`
  const zero = from < 0 ? svg('line', { x1: x(0), x2: x(0), y1: 1, y2: 17, class: 'zero' }) : null
  return svg(
    'svg',
    { class: 'interval', viewBox: '0 0 140 18', width: 140, height: 18, role: 'img', 'aria-label': label },
    svg('title', null, label),
    svg('line', { x1: 4, x2: 136, y1: 9, y2: 9, class: 'axis' }),
    zero,
    svg('line', { x1: x(low), x2: Math.max(x(high), x(low) + 1), y1: 9, y2: 9, class: 'range' }),
    svg('circle', { cx: x(mean), cy: 9, r: 3.5, class: 'mean' }),
  )
}

const phaseNames = ['environmentSetup', 'agentSetup', 'agentExecution', 'verifier'] as const
export const phaseWords: Readonly<Record<string, string>> = {
  environmentSetup: 'sandbox start',
  agentSetup: 'agent setup',
  agentExecution: 'agent',
  verifier: 'verifier',
}

/** The phases of one trial, drawn in proportion to their duration. */
export function phaseBar(phaseSec: readonly (number | null)[]): HTMLElement {
  const all = phaseSec.reduce<number>((sum, sec) => sum + (sec ?? 0), 0)
  const known = phaseNames.flatMap((name, i) => {
    const sec = phaseSec[i] ?? null
    return sec === null ? [] : [[name, sec] as const]
  })
  const label = known.map(([name, sec]) => `${phaseWords[name]} ${duration(sec)}`).join(', ')
  const bar = h('div', { class: 'phases', role: 'img', 'aria-label': label, title: label })
  for (const [name, sec] of known) {
    const part = h('span', { class: `phase ${name}` })
    part.style.width = `${(100 * sec) / Math.max(all, 1e-9)}%`
    bar.append(part)
  }
  return bar
}

export function phaseLegend(phaseSec: readonly (number | null)[]): HTMLElement {
  return h(
    'ul',
    { class: 'legend' },
    ...phaseNames.flatMap((name, i) =>
      phaseSec[i] === null || phaseSec[i] === undefined
        ? []
        : [h('li', null, h('i', { class: `phase ${name}` }), ` ${phaseWords[name]} ${duration(phaseSec[i])}`)],
    ),
  )
}

/** How long each phase took in a job's trials: 10th percentile, median and 90th percentile. */
export function phaseSpreads(spreads: Readonly<Record<string, ViewSpread | null>>): HTMLElement {
  const most = Math.max(1e-9, ...Object.values(spreads).map((spread) => spread?.p90 ?? 0))
  const rows = phaseNames.flatMap((name) => {
    const spread = spreads[name]
    if (!spread) return []
    const bar = h('div', { class: 'spread' })
    const range = h('span', { class: `phase ${name} range` })
    range.style.left = `${(100 * spread.p10) / most}%`
    range.style.width = `${Math.max(0.5, (100 * (spread.p90 - spread.p10)) / most)}%`
    const middle = h('span', { class: 'middle' })
    middle.style.left = `${(100 * spread.p50) / most}%`
    bar.append(range, middle)
    return [
      h(
        'tr',
        null,
        h('th', { scope: 'row' }, phaseWords[name]),
        h('td', { class: 'wide' }, bar),
        h('td', { class: 'num' }, duration(spread.p50)),
        h('td', { class: 'num' }, duration(spread.p90)),
        h('td', { class: 'num' }, duration(spread.max)),
      ),
    ]
  })
  return h(
    'table',
    { class: 'small' },
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        ...['Phase', '10 % to 90 %', 'Median', '90 %', 'Longest'].map((text) => h('th', { scope: 'col' }, text)),
      ),
    ),
    h('tbody', null, ...rows),
  )
}
