import type { ViewJob, ViewPage, ViewTaskRow, ViewTrialRow } from '../../src/core/view.ts'
import { get } from '../api.ts'
import { fill, h } from '../dom.ts'
import { go, type Page, to } from '../page.ts'
import { fileViewer } from '../parts/files.ts'
import { jobTop } from '../parts/job-top.ts'
import { outcomeBadge, outcomes, signs, words } from '../parts/outcome.ts'
import { makePager } from '../parts/pager.ts'
import { phaseBar } from '../parts/plots.ts'
import { rowKeys } from '../parts/rows.ts'
import { makeTabs, searchBox, sortHeads, stateSelect } from '../parts/toolbar.ts'
import { count, duration, line, money, plural, reward } from '../text.ts'

/** One job: its numbers on top, then the grid of tasks and attempts, its trials or its files. */
export async function jobPage(page: Page): Promise<void> {
  const { main, names, signal } = page
  const [id = ''] = names
  page.head([{ text: id }])
  const head = h('div')
  let reloadList = () => {}
  const follow = (reload: () => void) => {
    reloadList = reload
  }
  let shownFiles: readonly string[] = []
  const tabs = makeTabs(page, [
    { id: 'grid', title: 'Tasks', show: (panel) => follow(showGrid(page, id, panel)) },
    { id: 'trials', title: 'Trials', show: (panel) => follow(showTrials(page, id, panel)) },
    {
      id: 'files',
      title: 'Files',
      show: (panel) => {
        reloadList = () => {}
        fill(
          panel,
          fileViewer(
            page,
            ['jobs', id],
            shownFiles.map((path) => ({ path, bytes: null })),
            'config.json',
          ),
        )
      },
    },
  ])
  const load = async () => {
    const job = await get<ViewJob>(['jobs', id], {}, signal)
    shownFiles = job.files
    fill(head, ...jobTop(job))
    return job
  }
  const job = await load()
  fill(main, head, tabs.bar, tabs.panel)
  tabs.start()
  const again = (wait: number) =>
    setTimeout(async () => {
      if (signal.aborted) return
      const now = await load().catch(() => null)
      if (now && !now.complete) again(700)
    }, wait)
  if (!job.complete) again(700)
  page.live(({ jobs }) => {
    if (!jobs.some((each) => each.id === id)) return
    again(0)
    reloadList()
  })
}

/** A row for each task, a cell for each attempt. Returns a function that reloads it. */
function showGrid(page: Page, id: string, panel: HTMLElement): () => void {
  const { query, signal } = page
  const body = h('tbody')
  let several = false
  const pager = makePager<ViewTaskRow>({
    ...{ size: 200, signal, noun: 'tasks' },
    load: (offset, limit, until) => {
      const { q, filter, sort } = Object.fromEntries(query)
      return get<ViewPage<ViewTaskRow>>(['jobs', id, 'tasks'], { offset, limit, q, filter, sort }, until)
    },
    show: (items, fresh) => {
      if (fresh) fill(body)
      several ||= new Set(items.map(({ group }) => group)).size > 1
      body.append(...items.map((row) => gridRow(id, row, several)))
    },
  })
  const reload = () => void pager.reload()
  const search = searchBox(page, 'Search tasks', reload)
  const heads = sortHeads(
    page,
    [
      ['task', 'Task'],
      ['mean', 'Mean'],
      ['trials', 'Attempts'],
    ],
    reload,
  )
  fill(
    panel,
    h(
      'div',
      { class: 'tools' },
      search,
      stateSelect(
        page,
        'Outcome',
        outcomes.filter((each) => each !== 'running'),
        reload,
      ),
    ),
    h(
      'table',
      { class: 'list grid' },
      h('caption', { class: 'hidden' }, 'Tasks and their attempts'),
      h('thead', null, h('tr', null, ...heads)),
      body,
    ),
    pager.foot,
  )
  page.keys([
    ...rowKeys(body, (row) => row.querySelector<HTMLElement>('a.cell')?.click()),
    { key: '/', does: 'search', run: () => search.querySelector('input')?.focus() },
    { key: 'Escape', does: 'all jobs', run: () => go('#/') },
  ])
  reload()
  return () => void pager.reload(true)
}

function gridRow(id: string, { task, group, mean, cells }: ViewTaskRow, several: boolean): HTMLElement {
  return h(
    'tr',
    { 'data-row': task },
    h(
      'td',
      { class: 'clip' },
      h('a', { href: to(['tasks', `@${task}`]) }, h('bdi', null, line(task))),
      several && h('span', { class: 'dim' }, ` ${line(group)}`),
    ),
    h('td', { class: 'num' }, reward(mean)),
    h(
      'td',
      { class: 'cells' },
      ...cells.slice(0, 100).map(({ name, attempt, outcome, reward: value }) => {
        const label = `attempt ${attempt + 1}: ${words[outcome]}${value === null ? '' : `, reward ${reward(value)}`}`
        return h(
          'a',
          {
            class: `cell ${outcome}`,
            href: to(['jobs', id, 'trials', name]),
            title: label,
            'aria-label': `${line(task)}, ${label}`,
          },
          signs[outcome],
        )
      }),
      cells.length > 100 && h('span', { class: 'dim' }, ` and ${plural(cells.length - 100, 'more', 'more')}`),
    ),
  )
}

const trialColumns = [
  ['name', 'Trial'],
  ['outcome', 'Outcome'],
  ['reward', 'Reward'],
  ['', 'Stopped by'],
  ['seconds', 'Took'],
  ['', 'Phases'],
  ['tokens', 'Tokens in / out'],
  ['cost', 'Cost'],
] as const

function showTrials(page: Page, id: string, panel: HTMLElement): () => void {
  const { query, signal } = page
  const body = h('tbody')
  const pager = makePager<ViewTrialRow>({
    ...{ size: 100, signal, noun: 'trials' },
    load: (offset, limit, until) => {
      const { q, filter, sort } = Object.fromEntries(query)
      return get<ViewPage<ViewTrialRow>>(['jobs', id, 'trials'], { offset, limit, q, filter, sort }, until)
    },
    show: (items, fresh) => {
      if (fresh) fill(body)
      body.append(...items.map((row) => trialRow(id, row)))
      if (fresh && items.length === 0)
        body.append(h('tr', null, h('td', { colspan: trialColumns.length, class: 'empty' }, 'No trial matches.')))
    },
  })
  const reload = () => void pager.reload()
  const search = searchBox(page, 'Search trials, tasks, models and errors', reload)
  const filters = [
    ...outcomes.filter((each) => each !== 'running'),
    'task',
    'sandbox',
    'agent',
    'model',
    'verifier',
    'store',
    'scheduler',
  ]
  fill(
    panel,
    h('div', { class: 'tools' }, search, stateSelect(page, 'Outcome or failure', filters, reload)),
    h(
      'table',
      { class: 'list' },
      h('caption', { class: 'hidden' }, 'Trials'),
      h('thead', null, h('tr', null, ...sortHeads(page, trialColumns, reload))),
      body,
    ),
    pager.foot,
  )
  page.keys([
    ...rowKeys(body, (row) => go(to(['jobs', id, 'trials', row.dataset.row ?? '']))),
    { key: '/', does: 'search', run: () => search.querySelector('input')?.focus() },
    { key: 'Escape', does: 'all jobs', run: () => go('#/') },
  ])
  reload()
  return () => void pager.reload(true)
}

function trialRow(id: string, row: ViewTrialRow): HTMLElement {
  const blame = row.boundary === null ? row.stop : `${row.boundary}: ${row.code}`
  return h(
    'tr',
    { 'data-row': row.name },
    h(
      'td',
      { class: 'clip' },
      h('a', { href: to(['jobs', id, 'trials', row.name]) }, h('bdi', null, line(row.name))),
      row.tampered && h('span', { class: 'warn' }, ' changed system files'),
    ),
    h('td', null, outcomeBadge(row.outcome)),
    h('td', { class: 'num' }, reward(row.reward)),
    h(
      'td',
      { class: 'clip' },
      blame === null ? h('span', { class: 'dim' }, row.outcome === 'cancelled' ? '–' : 'finished') : line(blame),
    ),
    h('td', { class: 'num' }, duration(row.seconds)),
    h('td', { class: 'wide' }, phaseBar(row.phaseSec)),
    h('td', { class: 'num' }, `${count(row.inputTokens)} / ${count(row.outputTokens)}`),
    h('td', { class: 'num' }, money(row.costUsd)),
  )
}
