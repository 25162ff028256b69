import type { ViewDropped, ViewDroppedRows, ViewRecipe, ViewStage } from '../../src/core/view-data.ts'
import { get } from '../api.ts'
import { type Child, fill, h } from '../dom.ts'
import { go, type Page, to } from '../page.ts'
import { makePager } from '../parts/pager.ts'
import { rowKeys } from '../parts/rows.ts'
import { line, plural, whole } from '../text.ts'

/** The stages of a run from its sources to its datasets, with what each kept and dropped. */
export async function recipePage(page: Page): Promise<void> {
  const [id = ''] = page.names
  page.head([{ text: id }])
  const recipe = await get<ViewRecipe>(['recipes', id], {}, page.signal)
  const most = Math.max(1, ...recipe.stages.map(({ taken, given }) => Math.max(taken, given)))
  const body = h('tbody', null, ...recipe.stages.map((stage, i) => stageRow(recipe, stage, most, recipe.stages[i - 1])))
  fill(
    page.main,
    h('h1', null, h('bdi', null, line(recipe.name))),
    h('p', { class: 'lead' }, sentenceOf(recipe)),
    recipe.rehearsal && h('p', { class: 'warn' }, 'This was a rehearsal with stand-ins: do not train on it.'),
    h(
      'table',
      { class: 'list flow' },
      h('caption', { class: 'hidden' }, 'Stages'),
      h(
        'thead',
        null,
        h('tr', null, ...['Stage', 'Rows', 'Taken', 'Given', 'Dropped'].map((text) => h('th', { scope: 'col' }, text))),
      ),
      body,
    ),
    recipe.outputs.length > 0 && h('h2', null, 'Datasets'),
    h('ul', { class: 'plain' }, ...recipe.outputs.map((output) => h('li', null, ...outputLine(output)))),
  )
  const open = (row: HTMLElement) => row.querySelector('a')?.click()
  page.keys([...rowKeys(body, open), { key: 'Escape', does: 'all data', run: () => go('#/data') }])
}

function sentenceOf({ stages, outputs }: ViewRecipe): string {
  const sources = stages.filter(({ form }) => form === 'source')
  const given = sources.reduce((sum, stage) => sum + stage.given, 0)
  const dropped = stages.reduce((sum, { drops }) => sum + Object.values(drops).reduce((all, n) => all + n, 0), 0)
  const written = outputs.reduce(
    (sum, { counts }) => sum + (counts.train ?? counts.rows ?? 0) + (counts.validation ?? 0),
    0,
  )
  return `${plural(given, 'row')} of ${plural(sources.length, 'source')} went through ${plural(stages.length, 'stage')}; ${whole(dropped)} ${dropped === 1 ? 'was' : 'were'} dropped and ${whole(written)} written.`
}

function stageRow(recipe: ViewRecipe, stage: ViewStage, most: number, before: ViewStage | undefined): HTMLElement {
  const kept = h('span', { class: 'kept' })
  const gone = h('span', { class: 'gone' })
  const lost = Math.max(0, stage.taken - stage.given)
  kept.style.width = `${(100 * stage.given) / most}%`
  gone.style.width = `${(100 * lost) / most}%`
  const label = `${whole(stage.given)} kept, ${whole(lost)} dropped`
  const isBranch = stage.from.length !== 1 || stage.from[0] !== before?.id
  const from = isBranch && stage.from.length > 0 ? `from ${stage.from.map(line).join(', ')}` : null
  const name = h('bdi', null, line(stage.id))
  return h(
    'tr',
    { 'data-row': stage.id },
    h(
      'td',
      null,
      stage.dataset === null ? name : h('a', { href: to(['data', stage.dataset]) }, name),
      h('span', { class: 'dim use' }, line([stage.use, from].filter(Boolean).join(', '))),
    ),
    h(
      'td',
      { class: 'wide' },
      h('div', { class: 'flow-bar', role: 'img', 'aria-label': label, title: label }, kept, gone),
    ),
    h('td', { class: 'num' }, stage.form === 'source' ? '' : whole(stage.taken)),
    h('td', { class: 'num' }, whole(stage.given)),
    h('td', null, ...dropsOf(recipe.id, stage)),
  )
}

function dropsOf(recipe: string, { id, drops }: ViewStage): Child[] {
  const reasons = Object.entries(drops).sort(([, a], [, b]) => b - a)
  if (reasons.length === 0) return [h('span', { class: 'dim' }, 'none')]
  return reasons.flatMap(([reason, rows], i) => [
    i > 0 && ', ',
    h('a', { href: to(['recipes', recipe, 'dropped', id], { reason }) }, `${line(reason)} ${whole(rows)}`),
  ])
}

function outputLine({ id, dataset, counts }: ViewRecipe['outputs'][number]): Child[] {
  const name = h('bdi', null, line(id))
  const numbers = Object.entries(counts).map(([what, n]) => `${line(what)} ${whole(n)}`)
  return [
    dataset === null ? name : h('a', { href: to(['data', dataset]) }, name),
    ' ',
    h('span', { class: 'dim' }, numbers.join(', ')),
  ]
}

/** The rows that a stage dropped, each with its reason. */
export async function droppedPage(page: Page): Promise<void> {
  const { main, query, signal } = page
  const [id = '', stage = ''] = page.names
  page.head([{ text: id, to: to(['recipes', id]) }, { text: `dropped by ${stage}` }])
  const body = h('tbody')
  const reasons = h('p', { class: 'lead' })
  const leftOut = h('p', { class: 'dim' })
  const choose = (reason: string | null) => {
    page.remember({ reason })
    void pager.reload()
  }
  const pager = makePager<ViewDropped>({
    ...{ size: 100, signal, noun: 'dropped rows' },
    load: async (offset, limit, until) => {
      const reason = query.get('reason') ?? undefined
      const found = await get<ViewDroppedRows>(['recipes', id, 'dropped', stage], { offset, limit, reason }, until)
      if (offset === 0) {
        fill(reasons, ...reasonButtons(found.reasons, reason ?? null, choose))
        fill(leftOut, found.leftOut ? `${plural(found.leftOut, 'dropped row')} more: not part of this export.` : null)
      }
      return found
    },
    show: (items, fresh) => {
      if (fresh) fill(body)
      body.append(...items.map(droppedRow))
      if (fresh && items.length === 0)
        body.append(h('tr', null, h('td', { colspan: 3, class: 'empty' }, 'No row was dropped.')))
    },
  })
  fill(
    main,
    h('h1', null, 'Dropped by ', h('bdi', null, line(stage))),
    reasons,
    leftOut,
    h(
      'table',
      { class: 'list rows' },
      h('caption', { class: 'hidden' }, 'Dropped rows'),
      h('thead', null, h('tr', null, ...['Row', 'Reason', 'Detail'].map((text) => h('th', { scope: 'col' }, text)))),
      body,
    ),
    pager.foot,
  )
  page.keys([
    ...rowKeys(body, (row) => row.querySelector('a')?.click()),
    { key: 'Escape', does: 'the recipe', run: () => go(to(['recipes', id])) },
  ])
  await pager.reload()
}

function reasonButtons(
  reasons: Readonly<Record<string, number>>,
  now: string | null,
  choose: (reason: string | null) => void,
): Child[] {
  const all = Object.entries(reasons).sort(([, a], [, b]) => b - a)
  const total = all.reduce((sum, [, rows]) => sum + rows, 0)
  const one = (text: string, value: string | null) =>
    h('button', { 'aria-pressed': String(now === value), class: 'choice', onclick: () => choose(value) }, text)
  return [
    one(`all ${whole(total)}`, null),
    ...all.map(([reason, rows]) => one(`${line(reason)} ${whole(rows)}`, reason)),
  ]
}

function droppedRow({ id, reason, detail, begins, link }: ViewDropped): HTMLElement {
  const name = h('bdi', null, line(id ?? '(no id)'))
  return h(
    'tr',
    { 'data-row': id ?? '' },
    h(
      'td',
      { class: 'begins' },
      link === null ? name : h('a', { href: link }, name),
      h('span', { class: 'dim begin' }, h('bdi', null, line(begins))),
    ),
    h('td', null, line(reason)),
    h('td', { class: 'clip' }, detail === null ? h('span', { class: 'dim' }, '–') : h('bdi', null, line(detail))),
  )
}
