import type { ViewTrial } from '../../src/core/view.ts'
import { get } from '../api.ts'
import { type Child, fill, h } from '../dom.ts'
import { go, type Key, type Page, to } from '../page.ts'
import { fileViewer } from '../parts/files.ts'
import { outcomeBadge } from '../parts/outcome.ts'
import { phaseBar, phaseLegend } from '../parts/plots.ts'
import { showReplay } from '../parts/replay.ts'
import { makeTabs, type Tab } from '../parts/toolbar.ts'
import { showTurns } from '../parts/turns.ts'
import { showVerifier } from '../parts/verifier.ts'
import { clean, count, duration, line, money, reward, time } from '../text.ts'

/** One trial: why it ended, then what happened turn by turn, the terminal, the verifier and every file. */
export async function trialPage(page: Page): Promise<void> {
  const { main, names, signal } = page
  const [job = '', name = ''] = names
  const place = ['jobs', job, 'trials', name]
  const around = h('span', { class: 'around' })
  page.head([{ text: job, to: to(['jobs', job]) }, { text: name }], around)
  const trial = await get<ViewTrial>(place, {}, signal)
  const neighbor = (other: string | null) => () => {
    const tab = page.query.get('tab')
    if (other !== null) go(to(['jobs', job, 'trials', other], tab === null ? {} : { tab }))
  }
  fill(
    around,
    h('button', { class: 'quiet', disabled: trial.previous === null, onclick: neighbor(trial.previous) }, '← Previous'),
    h('button', { class: 'quiet', disabled: trial.next === null, onclick: neighbor(trial.next) }, 'Next →'),
  )
  const common: Key[] = [
    ...tabKeys.map(([id, does], i) => ({ key: String(i + 1), does, run: () => tabs.choose(id) })),
    { key: 'ArrowLeft', does: 'previous trial', run: neighbor(trial.previous) },
    { key: 'ArrowRight', does: 'next trial', run: neighbor(trial.next) },
    { key: 'Escape', does: 'back to the job', run: () => go(to(['jobs', job])) },
  ]
  const onKeys = (own: readonly Key[]) => page.keys([...own, ...common])
  const onPlay = (turn: number) => {
    page.remember({ turn: String(turn) })
    tabs.choose('replay')
  }
  const tabs = makeTabs(page, tabsOf({ page, place, trial, onKeys, onPlay }))
  fill(main, ...topOf(trial), tabs.bar, tabs.panel)
  tabs.start()
  if (trial.record === null) showAgainAtEnd(page, place)
}

const tabKeys = [
  ['turns', 'turns'],
  ['replay', 'terminal'],
  ['verifier', 'verifier'],
  ['files', 'files'],
  ['record', 'record'],
] as const

interface TabsRequest {
  readonly page: Page
  readonly place: readonly string[]
  readonly trial: ViewTrial
  /** Takes the shortcuts of the visible tab. */
  readonly onKeys: (keys: readonly Key[]) => void
  /** Shows the terminal at a turn. */
  readonly onPlay: (turn: number) => void
}

function tabsOf({ page, place, trial, onKeys, onPlay }: TabsRequest): Tab[] {
  const folders = agentFolders(trial)
  const cast = castsOf(trial)[0] ?? null
  const withoutKeys = (show: (panel: HTMLElement) => void) => (panel: HTMLElement) => {
    onKeys([])
    show(panel)
  }
  return [
    {
      ...{ id: 'turns', title: 'Turns' },
      show: (panel) => onKeys(showTurns({ page, place, trial, folders, panel, onPlay: cast === null ? null : onPlay })),
    },
    { id: 'replay', title: 'Terminal', show: (panel) => onKeys(showReplay({ page, place, trial, cast, panel })) },
    { id: 'verifier', title: 'Verifier', show: withoutKeys((panel) => showVerifier(page, place, trial, panel)) },
    {
      ...{ id: 'files', title: 'Files' },
      show: withoutKeys((panel) =>
        fill(
          panel,
          fileViewer(page, place, trial.files, 'trial.log'),
          trial.filesCut && h('p', { class: 'warn' }, 'Not all files are listed.'),
        ),
      ),
    },
    { id: 'record', title: 'Record', show: withoutKeys((panel) => fill(panel, recordPanel(page, trial))) },
  ]
}

/** Reloads the page when the trial has ended. */
function showAgainAtEnd({ signal }: Page, place: readonly string[]): void {
  const look = setInterval(async () => {
    const now = await get<ViewTrial>(place, {}, signal).catch(() => null)
    if (now?.record && !signal.aborted) dispatchEvent(new HashChangeEvent('hashchange'))
  }, 2000)
  signal.addEventListener('abort', () => clearInterval(look))
}

/** `agent`, or the agent's folder for each step of a multi-step task. */
function agentFolders({ record, files }: ViewTrial): string[] {
  const steps = (record?.steps ?? []).map(({ name }) => `steps/${name}/agent`)
  const present = steps.filter((folder) => files.some(({ path }) => path.startsWith(`${folder}/`)))
  return present.length > 0 ? present : ['agent']
}

function castsOf({ files }: ViewTrial): string[] {
  return files.map(({ path }) => path).filter((path) => path.endsWith('.cast'))
}

function topOf({ row, why, record, notes }: ViewTrial): Child[] {
  const task = h('a', { href: to(['tasks', `@${row.task}`]) }, line(row.task))
  const facts: [string, Child][] = [
    ['Task', row.outcome === 'running' ? line(row.task) : task],
    ['Agent', line([row.agent, record?.agent.version ?? '', row.model ?? ''].filter(Boolean).join(' · '))],
    ['Attempt', String(row.attempt + 1)],
    ['Reward', row.reward === null ? '–' : rewardsText(record) || reward(row.reward)],
    ['Tokens', `${count(row.inputTokens)} in, ${count(row.outputTokens)} out`],
    ['Cost', money(row.costUsd)],
    ['Took', duration(row.seconds)],
    ['Started', time(row.startedAt)],
    ['Isolation', record?.isolation ?? '–'],
  ]
  return [
    h('h1', null, h('bdi', null, line(row.name)), ' ', outcomeBadge(row.outcome)),
    h('p', { class: `why ${row.outcome}` }, line(why)),
    h(
      'dl',
      { class: 'facts' },
      ...facts
        .filter(([, value]) => value !== '' && value !== '–')
        .map(([title, value]) => h('div', null, h('dt', null, title), h('dd', null, h('bdi', null, value)))),
    ),
    phaseBar(row.phaseSec),
    phaseLegend(row.phaseSec),
    notes.length > 0 && h('ul', { class: 'notes' }, ...notes.map((note) => h('li', null, line(note)))),
  ]
}

function rewardsText(record: ViewTrial['record']): string {
  const rewards = record?.end.kind === 'scored' ? Object.entries(record.end.rewards ?? {}) : []
  if (rewards.length === 1) return reward(rewards[0]?.[1] ?? null)
  return rewards.map(([name, value]) => `${line(name)} ${reward(value)}`).join(', ')
}

function recordPanel(page: Page, trial: ViewTrial): HTMLElement {
  const { record, commands } = trial
  const copy = (text: string) => async () => {
    await navigator.clipboard?.writeText(text).catch(() => {})
    page.say('Copied.')
  }
  const stack = record?.end.kind === 'failed' ? record.end.failure.stack : null
  return h(
    'div',
    null,
    h('h2', null, 'Commands'),
    h(
      'ul',
      { class: 'plain commands' },
      ...commands.map(({ title, command }) =>
        h(
          'li',
          null,
          h('span', { class: 'dim' }, `${title} `),
          h('code', null, line(command)),
          h('button', { class: 'quiet', onclick: copy(command) }, 'Copy'),
        ),
      ),
    ),
    stack !== null && h('h2', null, 'Where it failed'),
    stack !== null && h('pre', { tabindex: '0' }, clean(stack)),
    h('h2', null, 'Record'),
    h(
      'pre',
      { tabindex: '0', class: 'json' },
      record === null ? 'The trial has no record yet.' : clean(JSON.stringify(record, null, 2)),
    ),
  )
}
