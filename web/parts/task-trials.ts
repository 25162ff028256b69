import type { ViewPage } from '../../src/core/view.ts'
import type { ViewSolveRate, ViewTask, ViewTaskTrial } from '../../src/core/view-tasks.ts'
import { get } from '../api.ts'
import { type Child, fill, h } from '../dom.ts'
import { type Page, to } from '../page.ts'
import { duration, line, percent, reward, time, whole } from '../text.ts'
import { outcomeBadge } from './outcome.ts'
import { makePager } from './pager.ts'
import { intervalPlot } from './plots.ts'

/** How often models solve a task, and all its trials. */
export function trialsPanel(page: Page, place: readonly string[], { rates, complete }: ViewTask): Child {
  if (rates.length === 0)
    return h(
      'p',
      { class: 'dim' },
      complete ? 'The loaded jobs have no trial of this task.' : 'Jobs are still being read.',
    )
  const body = h('tbody')
  const pager = makePager<ViewTaskTrial>({
    ...{ size: 50, signal: page.signal, noun: 'trials' },
    load: (offset, limit, until) => get<ViewPage<ViewTaskTrial>>([...place, 'trials'], { offset, limit }, until),
    show: (items, fresh) => {
      if (fresh) fill(body)
      body.append(...items.map(trialRow))
    },
  })
  void pager.reload()
  return [
    table(
      'Solve rates',
      ['Model and agent', 'Solved', '95 % interval', 'Mean reward', 'Without a reward'],
      [h('tbody', null, ...rates.map(rateRow))],
    ),
    h('h2', null, 'Trials'),
    table('Trials', ['Trial', 'Job', 'Outcome', 'Reward', 'Model and agent', 'Took', 'Started'], [body]),
    pager.foot,
  ]
}

function table(caption: string, heads: readonly string[], bodies: readonly HTMLElement[]): HTMLElement {
  return h(
    'table',
    { class: 'list' },
    h('caption', { class: 'hidden' }, caption),
    h('thead', null, h('tr', null, ...heads.map((text) => h('th', { scope: 'col' }, text)))),
    ...bodies,
  )
}

function rateRow({ model, agent, trials, solved, mean, low, high, unscored }: ViewSolveRate): HTMLElement {
  const none = trials === 0
  const share = none ? 0 : solved / trials
  return h(
    'tr',
    null,
    h('td', { class: 'clip' }, whoOf(model, agent)),
    h('td', { class: 'num strong' }, none ? '–' : `${whole(solved)} of ${whole(trials)}`),
    h('td', null, none ? '–' : intervalPlot({ mean: share, low, high, tasks: 1, trials })),
    h('td', { class: 'num' }, none ? '–' : percent(mean)),
    h('td', { class: 'num' }, unscored === 0 ? h('span', { class: 'dim' }, '–') : whole(unscored)),
  )
}

function trialRow({ job, name, outcome, reward: value, model, agent, seconds, startedAt }: ViewTaskTrial): HTMLElement {
  return h(
    'tr',
    { 'data-row': name },
    h('td', { class: 'clip' }, h('a', { href: to(['jobs', job, 'trials', name]) }, h('bdi', null, line(name)))),
    h('td', null, h('a', { href: to(['jobs', job]) }, h('bdi', null, line(job)))),
    h('td', null, outcomeBadge(outcome)),
    h('td', { class: 'num' }, reward(value)),
    h('td', { class: 'clip' }, whoOf(model, agent)),
    h('td', { class: 'num' }, duration(seconds)),
    h('td', { class: 'time dim' }, time(startedAt)),
  )
}

function whoOf(model: string | null, agent: string): Child {
  if (model === null) return h('bdi', null, line(agent))
  return [h('bdi', null, line(model)), h('span', { class: 'dim' }, ' ', h('bdi', null, line(agent)))]
}
