import type { ViewJobRow, ViewJobs } from '../../src/core/view.ts'
import { get, isExport } from '../api.ts'
import { fill, h } from '../dom.ts'
import { go, type Page, to } from '../page.ts'
import { makePager } from '../parts/pager.ts'
import { rowKeys } from '../parts/rows.ts'
import { searchBox, sortHeads, stateSelect } from '../parts/toolbar.ts'
import { duration, line, reward, time, whole } from '../text.ts'

const columns = [
  ['name', 'Job'],
  ['state', 'State'],
  ['', 'Agent and model'],
  ['trials', 'Trials'],
  ['mean', 'Mean reward'],
  ['failures', 'Infrastructure failures'],
  ['started', 'Started'],
  ['', 'Took'],
] as const

/** Every job, newest first; two or more can be selected and compared. */
export async function jobsPage(page: Page): Promise<void> {
  const { main, query, signal } = page
  page.head([])
  const body = h('tbody')
  const broken = h('div')
  const { chosen, choose, compare } = makeChooser()
  const pager = makePager<ViewJobRow>({
    ...{ size: 100, signal, noun: 'jobs' },
    load: async (offset, limit, until) => {
      const { q, filter, sort } = Object.fromEntries(query)
      const list = await get<ViewJobs>(['jobs'], { offset, limit, q, filter, sort }, until)
      fill(
        broken,
        ...list.broken.map(({ name, why }) => h('p', { class: 'warn' }, `cannot read ${line(name)}: ${line(why)}`)),
      )
      return list
    },
    show: (items, fresh) => {
      if (fresh) fill(body)
      body.append(...items.map((row) => jobRow(row, chosen.has(row.id), choose)))
      if (fresh && items.length === 0)
        body.append(h('tr', null, h('td', { colspan: columns.length + 1, class: 'empty' }, 'No job matches.')))
    },
  })
  const search = searchBox(page, 'Search names, agents and models', () => void pager.reload())
  fill(
    main,
    h('h1', null, 'Jobs'),
    h(
      'div',
      { class: 'tools' },
      search,
      stateSelect(page, 'State', ['running', 'finished', 'interrupted', 'unknown'], () => void pager.reload()),
      !isExport && compare,
    ),
    broken,
    jobsTable(page, body, () => void pager.reload()),
    pager.foot,
  )
  page.keys([
    ...rowKeys(body, (row) => go(to(['jobs', row.dataset.row ?? '']))),
    ...(isExport
      ? []
      : [
          { key: 'x', does: 'select the row for comparison', run: () => choose(body.querySelector('.marked')) },
          { key: 'c', does: 'compare the selected jobs', run: () => compare.click() },
        ]),
    { key: '/', does: 'search', run: () => search.querySelector('input')?.focus() },
  ])
  await pager.reload()
  page.live(({ jobs }) => {
    if (jobs.length > 0) void pager.reload(true)
  })
}

/** The jobs selected for comparison, and the button that opens it. */
function makeChooser() {
  const chosen = new Set<string>()
  const compare = h(
    'button',
    { disabled: true, onclick: () => go(to(['compare'], { jobs: [...chosen].join('\n') })) },
    'Compare',
  )
  const choose = (row: HTMLElement | null, on?: boolean) => {
    const box = row?.querySelector<HTMLInputElement>('input[type=checkbox]')
    const id = row?.dataset.row
    if (!box || id === undefined) return
    box.checked = on ?? !box.checked
    if (box.checked) chosen.add(id)
    else chosen.delete(id)
    compare.disabled = chosen.size < 2
    compare.textContent = chosen.size < 2 ? 'Compare' : `Compare ${chosen.size} jobs`
  }
  return { chosen, choose, compare }
}

function jobsTable(page: Page, body: HTMLElement, onSort: () => void): HTMLElement {
  const first = h('th', { scope: 'col' }, h('span', { class: 'hidden' }, 'Choose'))
  return h(
    'table',
    { class: 'list' },
    h('caption', { class: 'hidden' }, 'Jobs'),
    h('thead', null, h('tr', null, first, ...sortHeads(page, columns, onSort))),
    body,
  )
}

function jobRow(
  row: ViewJobRow,
  isChosen: boolean,
  choose: (row: HTMLElement | null, on?: boolean) => void,
): HTMLElement {
  const box = h('input', {
    type: 'checkbox',
    checked: isChosen,
    'aria-label': `Choose ${line(row.name)}`,
    onchange: (event: Event) =>
      choose((event.target as HTMLElement).closest('tr'), (event.target as HTMLInputElement).checked),
  })
  const failures = Object.entries(row.failures)
  const took = row.startedAt && row.finishedAt ? (Date.parse(row.finishedAt) - Date.parse(row.startedAt)) / 1000 : null
  return h(
    'tr',
    { 'data-row': row.id },
    h('td', null, !isExport && box),
    h('td', null, h('a', { href: to(['jobs', row.id]) }, h('bdi', null, line(row.name)))),
    h('td', null, h('span', { class: `state ${row.state}` }, row.state)),
    h(
      'td',
      { class: 'clip' },
      h(
        'bdi',
        null,
        [row.agents.map(line).join(', '), row.models.map(line).join(', ')].filter(Boolean).join(' · ') || '–',
      ),
    ),
    h('td', { class: 'num' }, progress(row)),
    h('td', { class: 'num' }, reward(row.meanReward)),
    h(
      'td',
      null,
      failures.length === 0
        ? h('span', { class: 'dim' }, 'none')
        : failures.map(([boundary, n]) => `${line(boundary)} ${n}`).join(', '),
    ),
    h('td', { class: 'time' }, time(row.startedAt)),
    h('td', { class: 'num' }, duration(took)),
  )
}

function progress({ done, total, state }: ViewJobRow): HTMLElement {
  const text = total === null || done === total ? whole(done) : `${whole(done)} of ${whole(total)}`
  if (state !== 'running' || total === null) return h('span', null, text)
  const bar = h('progress', { max: total, value: done, 'aria-label': 'finished trials' })
  return h('span', { class: 'progress' }, bar, text)
}
