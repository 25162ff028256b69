import type { ViewGroup, ViewJob, ViewTrialRow } from '../../src/core/view.ts'
import { type Child, h } from '../dom.ts'
import { to } from '../page.ts'
import { count, duration, line, money, percent, time, whole } from '../text.ts'
import { outcomeBar, outcomeLegend } from './outcome.ts'
import { intervalPlot, phaseSpreads } from './plots.ts'

/** A job's progress and results: outcomes, the numbers of each group, phases and failures. */
export function jobTop(view: ViewJob): Child[] {
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
      ...groups.slice(0, 4).map((group) => {
        const title = groups.length === 1 ? 'Time by phase' : `Time by phase: ${line(group.key)}`
        return h('section', null, h('h2', null, title), phaseSpreads(group.phaseSec))
      }),
      h(
        'section',
        null,
        h('h2', null, 'Infrastructure failures'),
        failures.length === 0 ? h('p', { class: 'dim' }, 'None.') : failureTable(view),
      ),
      running.length > 0 && runningSection(view),
    ),
  ]
}

/** Trials that have no record yet. */
function runningSection({ job, running }: ViewJob): HTMLElement {
  const itemOf = ({ name, seconds }: ViewTrialRow) =>
    h(
      'li',
      null,
      h('a', { href: to(['jobs', job.id, 'trials', name]) }, line(name)),
      h('span', { class: 'dim' }, ` ${duration(seconds)}`),
    )
  return h(
    'section',
    null,
    h('h2', null, job.state === 'running' ? 'Running now' : 'Without a result'),
    h('ul', { class: 'plain' }, ...running.slice(0, 12).map(itemOf)),
    running.length > 12 && h('p', { class: 'dim' }, `and ${running.length - 12} more`),
  )
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
