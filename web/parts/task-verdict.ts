import type { ViewVerdict } from '../../src/core/view-tasks.ts'
import { h } from '../dom.ts'
import { line } from '../text.ts'

const kinds = { accepted: 'solved', rejected: 'failed', unknown: 'partial' } as const
const signs = { accepted: '✓', rejected: '!', unknown: '?' } as const

/** The verdict of `tasks check` on a task. */
export function verdictBadge(verdict: ViewVerdict | null): HTMLElement {
  if (verdict === null) return h('span', { class: 'badge' }, 'not checked')
  return h(
    'span',
    { class: `badge ${kinds[verdict]}` },
    h('span', { 'aria-hidden': 'true' }, `${signs[verdict]} `),
    verdict,
  )
}

/** What each law of `tasks check` requires. */
export const laws: Readonly<Record<string, string>> = {
  lint: 'The lints find no mistakes in the files of the task.',
  start: 'The environment starts.',
  oracle: 'The solution of the task scores 1.',
  repeat: 'Every run of the solution scores the same.',
  nop: 'Doing nothing scores less than 1.',
  reference: 'The solution runs without errors, and every path in the instruction exists.',
  stated: 'The instruction states the names, order and format that the tests require.',
  shallow: 'No shallow solution scores 1: an empty file, a copied input, a constant.',
  forger: 'Forging the reward does not work.',
}

const outcomes: Readonly<Record<string, readonly [kind: string, word: string]>> = {
  ok: ['solved', '✓ holds'],
  fail: ['failed', '! fails'],
  unknown: ['partial', '? unknown'],
  skipped: ['', '– skipped'],
}

export function outcomeOfLaw(outcome: string): HTMLElement {
  const [kind, word] = (Object.hasOwn(outcomes, outcome) ? outcomes[outcome] : undefined) ?? ['', line(outcome)]
  return h('span', { class: `badge ${kind}` }, word)
}
