import type { ViewTaskItem, ViewTaskItems } from '../../src/core/view-tasks.ts'
import { get } from '../api.ts'
import { fill, h } from '../dom.ts'
import { go, type Page, to } from '../page.ts'
import { makePager } from '../parts/pager.ts'
import { rowKeys } from '../parts/rows.ts'
import { verdictBadge } from '../parts/task-verdict.ts'
import { searchBox, sortHeads, valueSelect } from '../parts/toolbar.ts'
import { line, percent, plural, whole } from '../text.ts'

const columns = [
  ['name', 'Task and instruction'],
  ['family', 'Family'],
  ['difficulty', 'Difficulty'],
  ['check', 'Check'],
  ['solved', 'Mean reward'],
] as const

const filters = ['q', 'sort', 'family', 'difficulty', 'check'] as const

/** The tasks of folders, packs and jobs, with search and filters. */
export async function tasksPage(page: Page): Promise<void> {
  const { main, query, signal } = page
  page.head([])
  const body = h('tbody')
  const sentence = h('p', { class: 'lead' })
  const broken = h('div')
  const reload = () => void pager.reload()
  const families = valueSelect(page, 'family', 'Family', reload)
  const difficulties = valueSelect(page, 'difficulty', 'Difficulty', reload)
  const checks = valueSelect(page, 'check', 'Check', reload)
  const showAround = (found: ViewTaskItems) => {
    fill(sentence, sentenceOf(found))
    fill(
      broken,
      ...found.broken.slice(0, 20).map(({ name, why }) => h('p', { class: 'warn' }, line(`${name}: ${why}`))),
    )
    families.show(found.families)
    difficulties.show(found.difficulties)
    checks.show(found.checks)
  }
  const pager = makePager<ViewTaskItem>({
    ...{ size: 100, signal, noun: 'tasks' },
    load: async (offset, limit, until) => {
      const asked = Object.fromEntries(filters.map((name) => [name, query.get(name) ?? undefined]))
      const found = await get<ViewTaskItems>(['tasks'], { ...asked, offset, limit }, until)
      if (offset === 0) showAround(found)
      return found
    },
    show: (items, fresh) => {
      if (fresh) fill(body)
      body.append(...items.map(taskRow))
      if (fresh && items.length === 0)
        body.append(h('tr', null, h('td', { colspan: columns.length, class: 'empty' }, 'No task matches.')))
    },
  })
  const search = searchBox(page, 'Search tasks and instructions', reload)
  fill(
    main,
    h('h1', null, 'Tasks'),
    sentence,
    broken,
    h('div', { class: 'tools' }, search, families.select, difficulties.select, checks.select),
    h(
      'table',
      { class: 'list rows tasks' },
      h('caption', { class: 'hidden' }, 'Tasks'),
      h('thead', null, h('tr', null, ...sortHeads(page, columns, reload))),
      body,
    ),
    pager.foot,
  )
  page.keys([
    ...rowKeys(body, (row) => go(to(['tasks', row.dataset.row ?? '']))),
    { key: '/', does: 'search', run: () => search.querySelector('input')?.focus() },
  ])
  await pager.reload()
}

function sentenceOf({ total, known, complete, checks }: ViewTaskItems): string {
  const narrowed = total === known ? '' : ` of ${whole(known)}`
  const of = (verdict: string) => checks.find(([value]) => value === verdict)?.[1] ?? 0
  const [accepted, rejected] = [of('accepted'), of('rejected')]
  const checked = accepted + rejected + of('unknown')
  const reading = complete ? '' : ', still reading'
  const said =
    checked === 0
      ? ''
      : ` ${whole(accepted)} of ${whole(checked)} checked tasks are accepted, ${whole(rejected)} rejected.`
  return `${whole(total)}${narrowed} ${known === 1 ? 'task' : 'tasks'}${reading}.${said}`
}

function taskRow({ id, name, set, family, difficulty, begins, verdict, law, trials, mean }: ViewTaskItem): HTMLElement {
  return h(
    'tr',
    { 'data-row': id },
    h(
      'td',
      { class: 'clip-line' },
      h('a', { href: to(['tasks', id]) }, h('bdi', null, line(name))),
      h('span', { class: 'dim' }, '  ', h('bdi', null, set === null ? 'known from jobs' : line(begins))),
    ),
    h('td', { class: 'short' }, h('bdi', null, line(family ?? '–').slice(0, 40))),
    h('td', { class: 'short' }, h('bdi', null, line(difficulty ?? '–').slice(0, 40))),
    h(
      'td',
      { class: 'short' },
      verdict === null ? h('span', { class: 'dim' }, 'not checked') : verdictBadge(verdict),
      law !== null && h('code', null, ` ${line(law)}`),
    ),
    h(
      'td',
      { class: 'num' },
      mean === null
        ? h('span', { class: 'dim' }, 'no trials')
        : [percent(mean), h('span', { class: 'dim' }, ` of ${plural(trials, 'trial')}`)],
    ),
  )
}
