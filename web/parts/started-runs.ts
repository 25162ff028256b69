import type { StartedRun } from '../../src/core/new-run.ts'
import { fill, h } from '../dom.ts'
import { to } from '../page.ts'
import { clean, line, time } from '../text.ts'

/** The runs started from the page: the state and latest output of each, and a way to stop it. */
export function startedList(place: HTMLElement, runs: readonly StartedRun[], onStop: (id: string) => void): void {
  // Redrawing must not move a button's focus or a log's scroll position.
  const focused = document.activeElement?.id ?? ''
  fill(
    place,
    runs.length > 0 && h('h2', null, 'Started from here'),
    ...runs.map((run) => startedItem(run, () => onStop(run.id))),
  )
  if (focused.startsWith('stop-')) document.getElementById(focused)?.focus()
}

function startedItem(run: StartedRun, onStop: () => void): HTMLElement {
  const { id, title, job, state, exit, says } = run
  const name = h('bdi', null, line(title))
  return h(
    'article',
    { class: 'started', 'data-run': id },
    h(
      'div',
      { class: 'tools' },
      h('h3', null, job === null ? name : h('a', { href: to(['jobs', job]) }, name)),
      h('span', { class: `state ${state === 'ended' ? 'finished' : 'running'}` }, exit ?? state),
      h('span', { class: 'dim' }, `started ${time(run.startedAt)}, process ${run.pid}`),
      state !== 'ended' &&
        h(
          'button',
          { type: 'button', id: `stop-${id}`, onclick: onStop },
          state === 'running' ? 'Stop' : 'Stop at once',
        ),
    ),
    h('pre', { class: 'shell' }, h('code', null, line(run.command))),
    says !== '' && h('pre', { class: 'says', tabindex: '0', 'aria-label': `Output of ${line(title)}` }, clean(says)),
    h('p', { class: 'dim' }, 'Full output: ', h('code', null, line(run.log))),
  )
}
