import type { ViewOutcome } from '../../src/core/view.ts'
import { h } from '../dom.ts'

/** Symbols next to the colors, so that outcomes can be told apart without seeing color. */
export const signs: Readonly<Record<ViewOutcome, string>> = {
  solved: '✓',
  partial: '◐',
  unsolved: '✕',
  unverified: '?',
  failed: '!',
  cancelled: '–',
  running: '…',
}

export const words: Readonly<Record<ViewOutcome, string>> = {
  solved: 'solved',
  partial: 'partly solved',
  unsolved: 'not solved',
  unverified: 'not verified',
  failed: 'infrastructure failure',
  cancelled: 'cancelled',
  running: 'running',
}

export const outcomes = Object.keys(signs) as ViewOutcome[]

export function outcomeBadge(outcome: ViewOutcome): HTMLElement {
  return h(
    'span',
    { class: `badge ${outcome}` },
    h('span', { 'aria-hidden': 'true' }, `${signs[outcome]} `),
    words[outcome],
  )
}

/** A bar divided by the share of each outcome. */
export function outcomeBar(counts: Readonly<Partial<Record<ViewOutcome, number>>>, planned: number): HTMLElement {
  const known = outcomes.flatMap((outcome) => (counts[outcome] ? [[outcome, counts[outcome]] as const] : []))
  const all = Math.max(
    planned,
    known.reduce((sum, [, n]) => sum + n, 0),
  )
  const label = known.map(([outcome, n]) => `${n} ${words[outcome]}`).join(', ') || 'no trial has ended'
  const bar = h('div', { class: 'outcomes', role: 'img', 'aria-label': label, title: label })
  for (const [outcome, n] of known) {
    const part = h('span', { class: outcome })
    part.style.width = `${(100 * n) / Math.max(1, all)}%`
    bar.append(part)
  }
  return bar
}

export function outcomeLegend(counts: Readonly<Partial<Record<ViewOutcome, number>>>): HTMLElement {
  return h(
    'ul',
    { class: 'legend' },
    ...outcomes.flatMap((outcome) =>
      counts[outcome]
        ? [h('li', null, h('i', { class: outcome }, signs[outcome]), ` ${counts[outcome]} ${words[outcome]}`)]
        : [],
    ),
  )
}
