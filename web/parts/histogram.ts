import type { ViewBin } from '../../src/core/view-data.ts'
import { fill, h } from '../dom.ts'
import { count, whole } from '../text.ts'

/**
 * The distribution of rows over a number, as clickable bars. Returns the element and a function that shows other bins
 * in it.
 */
export function makeHistogram(title: string, unit: string, choose: (bin: ViewBin | null) => void) {
  const bars = h('div', { class: 'bars' })
  const low = h('span')
  const high = h('span')
  const all = h('button', { class: 'quiet', onclick: () => choose(null) }, 'All')
  const frame = h('div', null, bars, h('div', { class: 'ends dim' }, low, high))
  const figure = h(
    'section',
    { class: 'histogram', 'aria-label': title },
    h('header', { class: 'histogram-head' }, h('h2', { class: 'histogram-title' }, title), all),
    frame,
  )
  const show = (bins: readonly ViewBin[], isNarrowed: boolean) => {
    const most = Math.max(1, ...bins.map(({ rows }) => rows))
    frame.style.maxWidth = `${Math.max(120, 32 * bins.length)}px`
    fill(bars, ...bins.map((bin) => bar(bin, bin.rows / most, unit, () => choose(bin))))
    const last = bins.at(-1)
    low.textContent = bins[0] ? count(bins[0].from) : ''
    high.textContent = !last ? '' : last.to === null ? `${count(last.from)} and more` : count(last.to - 1)
    all.hidden = !isNarrowed
  }
  return { figure, show }
}

function bar(bin: ViewBin, share: number, unit: string, choose: () => void): HTMLElement {
  const to = bin.to === null ? ' and more' : bin.to - 1 === bin.from ? '' : ` to ${whole(bin.to - 1)}`
  const label = `${whole(bin.from)}${to} ${unit}: ${whole(bin.rows)} rows`
  const fillIn = h('span', { class: 'bar-fill' })
  // Keeps a bar with few rows visible.
  fillIn.style.height = bin.rows === 0 ? '0' : `${Math.max(3, 100 * share)}%`
  return h(
    'button',
    { class: 'bar', title: label, 'aria-label': label, onclick: choose, disabled: bin.rows === 0 },
    fillIn,
  )
}
