import type { Ancestor, ViewModel, ViewModelRun } from '../../src/core/view-board.ts'
import { get } from '../api.ts'
import { type Child, fill, h } from '../dom.ts'
import { go, type Page, to } from '../page.ts'
import { rangeText, rankOf } from '../parts/board-table.ts'
import { intervalPlot } from '../parts/plots.ts'
import { clean, line, money, percent, time, whole } from '../text.ts'

/** A model: its results, what it was trained on, and its training run. */
export async function modelPage(page: Page): Promise<void> {
  const { main, names, signal } = page
  const [name = ''] = names
  page.head([{ text: name }])
  const model = await get<ViewModel>(['models', name], {}, signal)
  page.keys([{ key: 'Escape', does: 'back to the leaderboard', run: () => go('#/board') }])
  fill(
    main,
    h('h1', null, h('bdi', null, line(name))),
    h('p', { class: 'why' }, sentenceOf(model)),
    training(model),
    h('h2', null, 'Results'),
    results(model),
    h('h2', null, 'Lineage'),
    h('ul', { class: 'tree' }, ancestor(model.lineage, true)),
    model.children.length > 0 && [
      h('h2', null, 'Made from it'),
      h('ul', null, ...model.children.map((child) => h('li', null, modelLink(child)))),
    ],
    h('h2', null, 'Runs'),
    runTable(model.runs),
  )
}

function sentenceOf({ rows, benchmarks, lineage }: ViewModel): string {
  const made = lineage.parents.slice(0, 4).map(({ name }) => line(name))
  const firsts = rows.flatMap(({ cells }) =>
    cells.flatMap((cell, i) =>
      cell?.rank === 1 ? [`${line(benchmarks[i]?.key ?? '')}${cell.tied ? ' (tie)' : ''}`] : [],
    ),
  )
  const where = firsts.length === 0 ? '' : ` Rank 1 on ${firsts.slice(0, 5).join(', ')}.`
  return `${made.length === 0 ? 'The registry does not record what it was made from' : `Made from ${made.join(', ')}`}.${where}`
}

function training({ lineage: { facts }, parameters }: ViewModel): Child {
  const words: Readonly<Record<string, string>> = {
    training_type: 'Training',
    training_status: 'State',
    training_run: 'Run',
    training_start: 'Started',
    training_end: 'Ended',
  }
  const known = Object.entries(words).flatMap(([key, title]) => {
    const value = facts[key]
    if (value === null || value === undefined || value === 'external') return []
    return [[title, /_(start|end)$/.test(key) ? time(String(value)) : line(String(value))] as const]
  })
  return [
    known.length > 0 &&
      h(
        'dl',
        { class: 'facts' },
        ...known.map(([title, text]) => h('div', null, h('dt', null, title), h('dd', null, text))),
      ),
    parameters !== null &&
      h(
        'details',
        null,
        h('summary', null, 'Parameters of the training run'),
        h('pre', { class: 'json' }, indented(parameters)),
      ),
  ]
}

function indented(json: string): string {
  try {
    return clean(JSON.stringify(JSON.parse(json), null, 2))
  } catch {
    return clean(json)
  }
}

function results({ rows, benchmarks }: ViewModel): HTMLElement {
  const found = rows.flatMap((row) =>
    row.cells.flatMap((cell, i) => (cell ? [{ row, cell, key: benchmarks[i]?.key ?? '' }] : [])),
  )
  if (found.length === 0) return h('p', { class: 'dim' }, 'No run with a result is registered.')
  return h(
    'table',
    { class: 'list board' },
    h('caption', { class: 'hidden' }, 'Results'),
    heads(['Benchmark', 'Rank', 'Mean reward', '95 % interval', 'Trials', 'Cost']),
    h(
      'tbody',
      null,
      ...found.map(({ row, cell, key }) =>
        h(
          'tr',
          null,
          h(
            'td',
            { class: 'clip' },
            h('a', { href: to(['board'], { b: key }) }, h('bdi', null, line(key))),
            h('span', { class: 'dim sub' }, line(row.agent)),
          ),
          h('td', { class: 'num' }, rankOf(cell)),
          h('td', { class: 'num strong' }, percent(cell.accuracy)),
          h(
            'td',
            { class: 'num' },
            intervalPlot({ ...cell, mean: cell.accuracy }),
            h('span', { class: 'dim' }, rangeText(cell)),
          ),
          h('td', { class: 'num' }, whole(cell.trials)),
          h('td', { class: 'num' }, money(cell.costUsd)),
        ),
      ),
    ),
  )
}

function ancestor(node: Ancestor, isSelf = false): HTMLElement {
  const facts = Object.entries(node.facts).filter(
    ([key, value]) => value !== null && ['recipe_name', 'num_rows', 'num_tasks', 'training_type'].includes(key),
  )
  return h(
    'li',
    null,
    h('span', { class: 'tool' }, node.kind),
    ' ',
    isSelf || node.kind === 'dataset' ? h('bdi', null, line(node.name)) : modelLink(node.name),
    facts.length > 0 &&
      h(
        'span',
        { class: 'dim' },
        ` ${facts.map(([key, value]) => `${key.replace(/^num_|_/g, ' ').trim()} ${line(String(value))}`).join(', ')}`,
      ),
    !node.registered && h('span', { class: 'dim' }, ' not registered'),
    node.sources.map(({ kind, count, first }) =>
      h(
        'div',
        { class: 'dim' },
        `${whole(count)} ${kind === 'source' ? 'source' : kind}${count === 1 ? '' : 's'}: ${first.map(line).join(', ')}${count > first.length ? ', …' : ''}`,
      ),
    ),
    node.parents.length > 0 && h('ul', null, ...node.parents.map((parent) => ancestor(parent))),
  )
}

function runTable(runs: readonly ViewModelRun[]): HTMLElement {
  if (runs.length === 0) return h('p', { class: 'dim' }, 'No run of it is registered.')
  return h(
    'table',
    { class: 'list' },
    h('caption', { class: 'hidden' }, 'Runs'),
    heads(['Job', 'State', 'Benchmark', 'Agent', 'Mean reward', 'Trials', 'Failed', 'Cost', 'Started']),
    h(
      'tbody',
      null,
      ...runs.map((run) =>
        h(
          'tr',
          null,
          h(
            'td',
            { class: 'clip' },
            run.job === null
              ? h('bdi', null, line(run.jobName))
              : h('a', { href: to(['jobs', run.job]) }, h('bdi', null, line(run.jobName))),
          ),
          h('td', null, h('span', { class: `badge ${run.status === 'partial' ? 'partial' : ''}` }, run.status)),
          h('td', { class: 'clip' }, h('bdi', null, line(run.benchmark))),
          h('td', null, h('bdi', null, line(run.agent))),
          h('td', { class: 'num strong' }, run.accuracy === null ? '–' : percent(run.accuracy)),
          h('td', { class: 'num' }, run.trials === null ? '–' : whole(run.trials)),
          h('td', { class: 'num' }, run.failed ? whole(run.failed) : '–'),
          h('td', { class: 'num' }, money(run.costUsd)),
          h('td', { class: 'time' }, time(run.startedAt)),
        ),
      ),
    ),
  )
}

function heads(titles: readonly string[]): HTMLElement {
  return h('thead', null, h('tr', null, ...titles.map((title) => h('th', { scope: 'col' }, title))))
}

function modelLink(name: string): HTMLElement {
  return h('a', { href: to(['models', name]) }, h('bdi', null, line(name)))
}
