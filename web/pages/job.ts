import type { ViewGroup, ViewJob, ViewPage, ViewTaskRow, ViewTrialRow } from '../../src/core/view.ts'
import { get } from '../api.ts'
import { type Child, fill, h } from '../dom.ts'
import { go, type Page, to } from '../page.ts'
import { fileViewer } from '../parts/files.ts'
import { outcomeBadge, outcomeBar, outcomeLegend, outcomes, signs, words } from '../parts/outcome.ts'
import { makePager } from '../parts/pager.ts'
import { intervalPlot, phaseBar, phaseSpreads } from '../parts/plots.ts'
import { rowKeys } from '../parts/rows.ts'
import { makeTabs, searchBox, sortHeads, stateSelect } from '../parts/toolbar.ts'
import { count, duration, line, money, percent, plural, reward, time, whole } from '../text.ts'

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
    fill(head, ...topOf(job))
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

function topOf(view: ViewJob): Child[] {
  const { job, groups, outcomes: counts, running } = view
  const ended = Object.entries(counts).reduce((sum, [key, n]) => sum + (key === 'running' ? 0 : n), 0)
  const took =
    job.startedAt && job.finishedAt
      ? ` · took ${duration((Date.parse(job.finishedAt) - Date.parse(job.startedAt)) / 1000)}`
      : ''
  const failures = groups.flatMap((group) => group.failures)
  return [
    h('h1', null, h('bdi', null, line(job.name)), ' ', h('span', { class: `state ${job.state}` }, job.state)),
    h(
      'p',
      { class: 'dim' },
      `${whole(ended)} of ${job.total === null ? '?' : whole(job.total)} trials ended · started ${time(job.startedAt)}${took} · `,
      h('code', null, line(job.dir)),
    ),
    outcomeBar(counts, job.total ?? 0),
    outcomeLegend(counts),
    groups.length > 0 && groupTable(groups),
    h(
      'div',
      { class: 'cards' },
      ...groups
        .slice(0, 4)
        .map((group) =>
          h(
            'section',
            null,
            h('h2', null, groups.length === 1 ? 'Time by phase' : `Time by phase: ${line(group.key)}`),
            phaseSpreads(group.phaseSec),
          ),
        ),
      h(
        'section',
        null,
        h('h2', null, 'Infrastructure failures'),
        failures.length === 0 ? h('p', { class: 'dim' }, 'None.') : failureTable(view),
      ),
      running.length > 0 &&
        h(
          'section',
          null,
          h('h2', null, job.state === 'running' ? 'Running now' : 'Without a result'),
          h(
            'ul',
            { class: 'plain' },
            ...running
              .slice(0, 12)
              .map((row) =>
                h(
                  'li',
                  null,
                  h('a', { href: to(['jobs', job.id, 'trials', row.name]) }, line(row.name)),
                  h('span', { class: 'dim' }, ` ${duration(row.seconds)}`),
                ),
              ),
          ),
          running.length > 12 && h('p', { class: 'dim' }, `and ${running.length - 12} more`),
        ),
    ),
  ]
}

function groupTable(groups: readonly ViewGroup[]): HTMLElement {
  const heads = [
    'Agent and model',
    'Dataset',
    'Trials',
    'Mean reward',
    '95 % interval',
    'pass@k',
    'Tokens in',
    'Tokens out',
    'Cost',
    'Agent, median',
  ]
  return h(
    'table',
    { class: 'list' },
    h('caption', { class: 'hidden' }, 'Results by agent and model'),
    h('thead', null, h('tr', null, ...heads.map((text) => h('th', { scope: 'col' }, text)))),
    h(
      'tbody',
      null,
      ...groups.map((group) => {
        const { accuracy, spreads } = group
        const passes = group.passes.filter(({ k }) => k > 1).map(({ k, any }) => `@${k} ${percent(any)}`)
        return h(
          'tr',
          null,
          h('td', null, h('bdi', null, [group.agent, group.model ?? ''].filter(Boolean).map(line).join(' · '))),
          h('td', null, h('bdi', null, line(group.dataset ?? '–'))),
          h('td', { class: 'num' }, whole(group.trials)),
          h('td', { class: 'num strong' }, accuracy ? percent(accuracy.mean) : '–'),
          h(
            'td',
            null,
            accuracy && intervalPlot(accuracy),
            accuracy && h('span', { class: 'dim' }, ` ${percent(accuracy.low)} to ${percent(accuracy.high)}`),
          ),
          h('td', null, passes.join(', ') || '–'),
          h('td', { class: 'num' }, count(spreads.inputTokens?.sum ?? null)),
          h('td', { class: 'num' }, count(spreads.outputTokens?.sum ?? null)),
          h('td', { class: 'num' }, money(spreads.costUsd?.sum ?? null)),
          h('td', { class: 'num' }, duration(group.phaseSec.agentExecution?.p50 ?? null)),
        )
      }),
    ),
  )
}

function failureTable({ job, groups }: ViewJob): HTMLElement {
  const rows = groups.flatMap(({ failures }) => failures)
  return h(
    'table',
    { class: 'small' },
    h('thead', null, h('tr', null, ...['Blamed on', 'What', 'Trials'].map((text) => h('th', { scope: 'col' }, text)))),
    h(
      'tbody',
      null,
      ...rows.map(({ boundary, code, trials }) =>
        h(
          'tr',
          null,
          h('td', null, h('a', { href: to(['jobs', job.id], { tab: 'trials', filter: boundary }) }, line(boundary))),
          h('td', null, line(code)),
          h('td', { class: 'num' }, whole(trials)),
        ),
      ),
    ),
  )
}

/** A row for each task, a cell for each attempt. Gives how to load it again. */
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
    h('div', { class: 'tools' }, search, stateSelect(page, 'Outcome or blame', filters, reload)),
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
