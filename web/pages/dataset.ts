import type { ViewBin, ViewDataRow, ViewDataRows } from '../../src/core/view-data.ts'
import { get } from '../api.ts'
import { fill, h } from '../dom.ts'
import { go, type Page, to } from '../page.ts'
import { makeHistogram } from '../parts/histogram.ts'
import { makePager } from '../parts/pager.ts'
import { rowKeys } from '../parts/rows.ts'
import { searchBox, sortHeads, valueSelect } from '../parts/toolbar.ts'
import { count, line, plural, whole } from '../text.ts'

const columns = [
  ['', 'Row'],
  ['task', 'Task and question'],
  ['source', 'Source'],
  ['result', 'Result'],
  ['turns', 'Turns'],
  ['tokens', '~ Tokens'],
  ['model', 'Model'],
] as const

const filters = ['q', 'sort', 'result', 'source', 'minTurns', 'maxTurns', 'minTokens', 'maxTokens'] as const

/** The rows of a dataset, with search, filters and histograms. */
export async function datasetPage(page: Page): Promise<void> {
  const { main, query, signal } = page
  const [id = ''] = page.names
  const body = h('tbody')
  const sentence = h('p', { class: 'lead' })
  const leftOut = h('p', { class: 'dim' })
  const trouble = h('p', { class: 'warn' })
  const reload = () => void pager.reload()
  const turns = makeHistogram('Turns', 'turns', narrowTo('Turns', page, reload))
  const tokens = makeHistogram('Tokens, about', 'tokens', narrowTo('Tokens', page, reload))
  const results = valueSelect(page, 'result', 'Result', reload)
  const sources = valueSelect(page, 'source', 'Source', reload)
  const showAround = (found: ViewDataRows) => {
    fill(sentence, sentenceOf(found))
    fill(leftOut, leftOutOf(found))
    fill(trouble, found.trouble === null ? null : line(`Reading stopped early. ${found.trouble}`))
    turns.show(found.turns, query.has('minTurns') || query.has('maxTurns'))
    tokens.show(found.tokens, query.has('minTokens') || query.has('maxTokens'))
    results.show(found.results)
    sources.show(found.sources)
  }
  const pager = makePager<ViewDataRow>({
    ...{ size: 100, signal, noun: 'rows' },
    load: async (offset, limit, until) => {
      const asked = Object.fromEntries(filters.map((name) => [name, query.get(name) ?? undefined]))
      const found = await get<ViewDataRows>(['data', id, 'rows'], { ...asked, offset, limit }, until)
      if (offset === 0) showAround(found)
      return found
    },
    show: (items, fresh) => {
      if (fresh) fill(body)
      body.append(...items.map((row) => rowOf(id, row, query.get('q') ?? '')))
      if (fresh && items.length === 0)
        body.append(h('tr', null, h('td', { colspan: columns.length, class: 'empty' }, 'No row matches.')))
    },
  })
  const [run, step] = splitId(id)
  page.head([...(run === null ? [] : [{ text: run, to: to(['recipes', run]) }]), { text: step }])
  const search = searchBox(page, 'Search for words in the rows', reload)
  fill(
    main,
    h('h1', null, h('bdi', null, line(step))),
    sentence,
    leftOut,
    trouble,
    h('div', { class: 'tools' }, search, results.select, sources.select),
    h('div', { class: 'cards' }, turns.figure, tokens.figure),
    tableOf(page, body, reload),
    pager.foot,
  )
  page.keys([
    ...rowKeys(body, (row) => go(addressOf(id, row.dataset.row ?? '', query.get('q') ?? ''))),
    { key: '/', does: 'search', run: () => search.querySelector('input')?.focus() },
    { key: 'Escape', does: 'all datasets', run: () => go(run === null ? '#/data' : to(['recipes', run])) },
  ])
  await pager.reload()
}

function tableOf(page: Page, body: HTMLElement, reload: () => void): HTMLElement {
  return h(
    'table',
    { class: 'list rows dataset' },
    h('caption', { class: 'hidden' }, 'Rows'),
    h('thead', null, h('tr', null, ...sortHeads(page, columns, reload))),
    body,
  )
}

/** Keeps the range of a bar in the address; null means every row. */
function narrowTo(name: 'Turns' | 'Tokens', page: Page, reload: () => void): (bin: ViewBin | null) => void {
  return (bin) => {
    const most = bin?.to == null ? null : String(bin.to - 1)
    page.remember({ [`min${name}`]: bin === null ? null : String(bin.from), [`max${name}`]: most })
    reload()
  }
}

/** A recipe's rows have IDs made of the run and the stage. */
export function splitId(id: string): [run: string | null, step: string] {
  const at = id.lastIndexOf(':')
  return at < 0 ? [null, id] : [id.slice(0, at), id.slice(at + 1)]
}

function addressOf(id: string, number: string, q: string): string {
  return to(['data', id, 'rows', number], q === '' ? {} : { q })
}

function sentenceOf({ total, rows, indexed, complete, sources, results }: ViewDataRows): string {
  const narrowed = total === indexed ? '' : ` of ${whole(indexed)}`
  const reading = complete ? '' : `; ${whole(indexed)}${rows === null ? '' : ` of ${whole(rows)}`} read so far`
  const known = sources.filter(([source]) => source !== '(none)').length
  const from = known > 1 ? ` from ${plural(known, 'source')}` : ''
  const [first] = results
  const most =
    first && first[0] !== '(none)' && total > 0
      ? ` ${whole(first[1])} ${first[1] === 1 ? 'has' : 'have'} the result ${line(first[0])}.`
      : ''
  return `${whole(total)}${narrowed} ${indexed === 1 ? 'row' : 'rows'}${from}${reading}.${most}`
}

function leftOutOf({ leftOut = 0, rows }: ViewDataRows): string | null {
  if (leftOut === 0) return null
  return `This export holds ${whole((rows ?? 0) - leftOut)} of ${plural(rows ?? 0, 'row')}: the first ones, and those that other rows link to. Numbers and search cover only these.`
}

function rowOf(id: string, row: ViewDataRow, q: string): HTMLElement {
  return h(
    'tr',
    { 'data-row': String(row.number) },
    h('td', { class: 'num dim' }, whole(row.number)),
    h(
      'td',
      { class: 'clip-line' },
      h(
        'a',
        { href: addressOf(id, String(row.number), q) },
        h('bdi', null, line(row.task ?? row.id ?? `row ${row.number}`)),
      ),
      h('span', { class: 'dim' }, '  ', h('bdi', null, line(row.begins))),
    ),
    h('td', null, h('bdi', null, line(row.source ?? '–'))),
    h('td', null, result(row.result)),
    h('td', { class: 'num' }, whole(row.turns)),
    h('td', { class: 'num' }, count(row.tokens)),
    h('td', { class: 'model' }, h('bdi', null, line(row.model ?? '–'))),
  )
}

/** Shows a reward in the color of its outcome, any other result as text. */
export function result(text: string | null): HTMLElement {
  if (text === null) return h('span', { class: 'dim' }, '–')
  const value = Number(text)
  const kind = Number.isNaN(value) ? '' : value >= 1 ? 'solved' : value > 0 ? 'partial' : 'unsolved'
  return h('span', { class: kind === '' ? '' : `chip ${kind}` }, line(text))
}
