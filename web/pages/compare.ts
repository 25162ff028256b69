import type { ViewComparison } from '../../src/core/view.ts'
import { get } from '../api.ts'
import { fill, h } from '../dom.ts'
import { go, type Page, to } from '../page.ts'
import { intervalPlot } from '../parts/plots.ts'
import { line, percent, reward, whole } from '../text.ts'

/** Jobs side by side: which is better and how sure that is, then task by task. */
export async function comparePage(page: Page): Promise<void> {
  const { main, query, signal } = page
  const jobs = (query.get('jobs') ?? '').split('\n').filter(Boolean)
  page.head([{ text: 'Comparison' }])
  page.keys([{ key: 'Escape', does: 'all jobs', run: () => go('#/') }])
  const found = await get<ViewComparison>(['compare'], { job: jobs }, signal)
  const onlyDiffering = h('input', { type: 'checkbox', onchange: () => showTasks() })
  const body = h('tbody')
  const note = h('p', { class: 'foot' })
  const showTasks = () => {
    const differ = (rewards: readonly (number | null)[]) => new Set(rewards).size > 1
    const shown = found.tasks.filter(({ rewards }) => !onlyDiffering.checked || differ(rewards))
    fill(body, ...shown.slice(0, 2000).map((row) => taskRow(found, row)))
    note.textContent = `${whole(Math.min(2000, shown.length))} of ${whole(found.tasks.length)} tasks`
  }
  fill(
    main,
    h('h1', null, 'Comparison'),
    h(
      'ul',
      { class: 'sentences' },
      ...found.pairs.map(({ sentence, verdict }) => h('li', { class: verdict }, line(sentence))),
    ),
    runTable(found),
    h('h2', null, 'Differences, task by task'),
    pairTable(found),
    h('div', { class: 'tools' }, h('h2', null, 'Tasks'), h('label', null, onlyDiffering, ' only where they differ')),
    h(
      'table',
      { class: 'list' },
      h('caption', { class: 'hidden' }, 'Mean reward by task'),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          h('th', { scope: 'col' }, 'Task'),
          ...found.runs.map(({ name }) => h('th', { scope: 'col' }, h('bdi', null, line(name)))),
        ),
      ),
      body,
    ),
    note,
  )
  showTasks()
}

function runTable({ runs }: ViewComparison): HTMLElement {
  return h(
    'table',
    { class: 'list' },
    h('caption', { class: 'hidden' }, 'Results'),
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        ...['Rank', 'Run', 'Agent and model', 'Mean reward', '95 % interval', 'Note'].map((text) =>
          h('th', { scope: 'col' }, text),
        ),
      ),
    ),
    h(
      'tbody',
      null,
      ...runs.map(({ rank, name, job, agent, model, accuracy, reasons }) =>
        h(
          'tr',
          null,
          h(
            'td',
            { class: 'num' },
            rank === null ? '–' : `${rank}${runs.filter((run) => run.rank === rank).length > 1 ? ' (tie)' : ''}`,
          ),
          h('td', null, h('a', { href: to(['jobs', job]) }, h('bdi', null, line(name)))),
          h('td', null, h('bdi', null, [agent, model ?? ''].filter(Boolean).map(line).join(' · '))),
          h('td', { class: 'num strong' }, accuracy ? percent(accuracy.mean) : '–'),
          h(
            'td',
            null,
            accuracy && intervalPlot(accuracy),
            accuracy && h('span', { class: 'dim' }, ` ${percent(accuracy.low)} to ${percent(accuracy.high)}`),
          ),
          h('td', { class: 'dim' }, reasons.map(line).join('; ')),
        ),
      ),
    ),
  )
}

function pairTable({ pairs, runs }: ViewComparison): HTMLElement {
  const nameOf = (i: number) => line(runs[i]?.name ?? '')
  const signed = (share: number) => `${share < 0 ? '−' : '+'}${percent(Math.abs(share))}`
  return h(
    'table',
    { class: 'list' },
    h('caption', { class: 'hidden' }, 'Paired differences'),
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        ...['First', 'Second', 'First minus second', '95 % interval', 'p, corrected', 'Tasks'].map((text) =>
          h('th', { scope: 'col' }, text),
        ),
      ),
    ),
    h(
      'tbody',
      null,
      ...pairs.map(({ first, second, difference, adjustedP }) =>
        h(
          'tr',
          null,
          h('td', null, h('bdi', null, nameOf(first))),
          h('td', null, h('bdi', null, nameOf(second))),
          h('td', { class: 'num strong' }, signed(difference.mean)),
          h(
            'td',
            null,
            intervalPlot(difference, -1, 1),
            h('span', { class: 'dim' }, ` ${signed(difference.low)} to ${signed(difference.high)}`),
          ),
          h('td', { class: 'num' }, adjustedP < 0.001 ? '< 0.001' : adjustedP.toPrecision(2)),
          h('td', { class: 'num' }, whole(difference.tasks)),
        ),
      ),
    ),
  )
}

function taskRow({ runs }: ViewComparison, { task, rewards }: ViewComparison['tasks'][number]): HTMLElement {
  const cells = runs.map(({ job }, i) => {
    const value = rewards[i] ?? null
    const kind = value === null ? '' : value >= 1 ? 'solved' : value > 0 ? 'partial' : 'unsolved'
    const link = to(['jobs', job], { tab: 'trials', q: task })
    return h(
      'td',
      { class: 'num' },
      value === null ? '–' : h('a', { class: `chip ${kind}`, href: link }, reward(value)),
    )
  })
  return h('tr', null, h('td', { class: 'clip' }, h('bdi', null, line(task))), ...cells)
}
