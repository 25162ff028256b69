import type { ViewAblation, ViewAblationRow, ViewScore } from '../../src/core/view-board.ts'
import { type Child, h } from '../dom.ts'
import { line, percent, plural } from '../text.ts'
import { intervalPlot } from './plots.ts'

/** A study: every variant against the baseline. */
export function ablationTables(study: ViewAblation): HTMLElement {
  const text = (value: number) => (study.scale === 'share' ? percent(value) : String(Number(value.toPrecision(4))))
  const better = study.rows.filter(({ comparison }) => comparison?.verdict === 'better').length
  const compared = study.rows.filter(({ comparison }) => comparison !== null).length
  return h(
    'section',
    null,
    h('h2', null, h('bdi', null, line(study.name))),
    study.summary && h('p', null, line(study.summary)),
    h(
      'p',
      { class: 'dim' },
      `${better} of ${plural(compared, 'variant')} better than ${line(study.baseline)} beyond noise. Measured: ${line(study.measure)}, ${plural(study.seeds, 'seed')}.`,
    ),
    h(
      'div',
      { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Variants of ${line(study.name)}` },
      h(
        'table',
        { class: 'list' },
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            ...['Variant', 'Value', '95 % interval', 'Against the baseline', 'p, corrected', 'Verdict', 'Cells'].map(
              (title) => h('th', { scope: 'col' }, title),
            ),
          ),
        ),
        h('tbody', null, ...study.rows.map((row) => variantRow(row, study, text))),
      ),
    ),
    study.missing.length > 0 &&
      h(
        'details',
        null,
        h('summary', null, `${plural(study.missing.length, 'cell')} without a result`),
        h('ul', null, ...study.missing.map(({ cell, reason }) => h('li', null, `${line(cell)}: ${line(reason)}`))),
      ),
  )
}

function variantRow(row: ViewAblationRow, { scale, baseline }: ViewAblation, text: (value: number) => string) {
  const { comparison, score } = row
  const factors = Object.entries(row.factors).map(([name, value]) => `${name} ${value}`)
  const signed = (value: number) => `${value < 0 ? '−' : '+'}${text(Math.abs(value))}`
  const range = (of: ViewScore, show: (value: number) => string): Child =>
    h('span', { class: 'dim' }, ` ${show(of.low)} to ${show(of.high)}`)
  const word = comparison?.verdict ?? (row.variant === baseline ? 'baseline' : '–')
  return h(
    'tr',
    null,
    h(
      'td',
      { class: 'clip', title: row.summary ? line(row.summary) : null },
      h('bdi', null, line(row.variant)),
      factors.length > 0 && h('span', { class: 'dim sub' }, line(factors.join(', '))),
    ),
    h('td', { class: 'num strong' }, score ? text(score.mean) : '–'),
    h('td', { class: 'num' }, score && scale === 'share' && intervalPlot(score), score && range(score, text)),
    h(
      'td',
      { class: 'num' },
      comparison && signed(comparison.difference.mean),
      comparison && range(comparison.difference, signed),
    ),
    h('td', { class: 'num' }, comparison ? comparison.adjustedP.toPrecision(2) : '–'),
    h('td', { class: `num chip ${word === 'better' ? 'solved' : word === 'worse' ? 'partial' : ''}` }, word),
    h(
      'td',
      { class: 'num' },
      `${row.cells.done} of ${row.cells.of} `,
      row.reasons.length > 0 && h('span', { class: 'badge partial', title: line(row.reasons.join('; ')) }, 'partial'),
    ),
  )
}
