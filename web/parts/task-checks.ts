import type { ViewTask, ViewTaskCheck } from '../../src/core/view-tasks.ts'
import { type Child, h } from '../dom.ts'
import { clean, line } from '../text.ts'
import { laws, outcomeOfLaw } from './task-verdict.ts'

/** The findings of `tasks check`, law by law. */
export function checksPanel({ checks, findings, notes }: ViewTask): Child {
  if (checks.length === 0)
    return h(
      'p',
      { class: 'dim' },
      'No report. ',
      h('code', null, 'npx ot-agent tasks check TASKS --json > TASKS/check.json'),
      ' writes one into the folder of the tasks, where the viewer finds it.',
    )
  const heads = ['Law', 'Outcome', 'Why'].map((text) => h('th', { scope: 'col' }, text))
  return [
    h(
      'table',
      { class: 'list laws' },
      h('caption', { class: 'hidden' }, 'Laws'),
      h('thead', null, h('tr', null, ...heads)),
      h('tbody', null, ...checks.map(lawRow)),
    ),
    findings.length > 0 && h('h2', null, 'Lints'),
    findings.length > 0 &&
      h(
        'ul',
        { class: 'plain commands' },
        ...findings
          .slice(0, 500)
          .map(({ lint, severity, path, message }) =>
            h(
              'li',
              null,
              h('span', { class: `badge ${severity === 'error' ? 'failed' : 'partial'}` }, line(severity)),
              ` ${line(message)} `,
              path !== '' && h('code', null, line(path)),
              h('span', { class: 'dim' }, ` ${line(lint)}`),
            ),
          ),
      ),
    notes.length > 0 && h('ul', { class: 'notes' }, ...notes.map((note) => h('li', null, line(note)))),
  ]
}

function lawRow({ name, outcome, reasons, evidence }: ViewTaskCheck): HTMLElement {
  const asks = Object.hasOwn(laws, name) ? laws[name] : undefined
  return h(
    'tr',
    { 'data-law': name },
    h('td', null, h('code', null, line(name)), asks !== undefined && h('span', { class: 'dim sub' }, asks)),
    h('td', null, outcomeOfLaw(outcome)),
    h(
      'td',
      { class: 'reasons' },
      ...reasons.slice(0, 50).map((reason) => h('div', null, line(reason))),
      evidence.length > 0 &&
        h(
          'details',
          null,
          h('summary', null, 'Evidence'),
          h('pre', { tabindex: '0' }, clean(evidence.join('\n')).slice(0, 100_000)),
        ),
    ),
  )
}
