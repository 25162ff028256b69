import type { ViewCalls, ViewStep, ViewSteps, ViewTrial } from '../../src/core/view.ts'
import { get, isExport, rawAddress } from '../api.ts'
import { fill, h } from '../dom.ts'
import type { Key, Page } from '../page.ts'
import { line, whole } from '../text.ts'
import { showExchange } from './exchange.ts'
import { turnCard } from './turn-card.ts'

export interface TurnsRequest {
  readonly page: Page
  readonly place: readonly string[]
  readonly trial: ViewTrial
  /** The agent's folders: one, or one for each step of the task. */
  readonly folders: readonly string[]
  readonly panel: HTMLElement
  /** Shows the terminal at a turn; null if nothing was recorded. */
  readonly onPlay: ((turn: number) => void) | null
}

interface Shown {
  readonly card: HTMLElement
  readonly step: ViewStep
  readonly folder: string
}

/** The trajectory, turn by turn, loaded on scrolling. Returns the tab's shortcuts. */
export function showTurns(request: TurnsRequest): Key[] {
  const { page, place, folders, panel, trial } = request
  const shown: Shown[] = []
  const calls = new Map<string, Promise<ViewCalls | null>>()
  let marked = -1
  const mark = (at: number, scroll = true) => {
    shown[marked]?.card.classList.remove('marked')
    marked = Math.min(shown.length - 1, Math.max(0, at))
    const now = shown[marked]
    now?.card.classList.add('marked')
    if (now) page.remember({ turn: String(now.step.number), folder: folders.length > 1 ? now.folder : null })
    if (scroll) now?.card.scrollIntoView({ block: 'start' })
  }
  const exchangeOf = async (at: number) => {
    const now = shown[at]
    if (!now) return
    const recorded = trial.record === null || trial.files.some(({ path }) => path === `${now.folder}/exchanges.jsonl`)
    const ask = () => get<ViewCalls>([...place, 'exchanges'], { folder: now.folder }, page.signal).catch(() => null)
    const list = recorded ? (calls.get(now.folder) ?? ask()) : null
    if (list && trial.record !== null) calls.set(now.folder, list)
    const call = callFor(now.step, await list)
    if (call === null)
      page.say(
        isExport
          ? 'Exchanges with the model are not part of an export.'
          : 'No exchange with the model was recorded for this turn.',
      )
    else await showExchange(page, place, now.folder, call)
  }
  fill(panel)
  for (const folder of folders) {
    const section = h('section', { class: 'turns' })
    if (folders.length > 1) section.append(h('h2', null, line(folder.split('/')[1] ?? folder)))
    panel.append(section)
    // A running agent may still start one; a finished trial has all it will have.
    const has =
      trial.record === null ||
      trial.files.some(({ path }) => /^trajectory\.jsonl?$/.test(path.slice(folder.length + 1)))
    if (!has) section.append(h('p', { class: 'dim' }, noSteps(trial)))
    else void loadFile(request, { folder, file: `${folder}/trajectory.json`, section, shown, mark, exchangeOf })
  }
  return [
    { key: 'j', does: 'next turn', run: () => mark(marked + 1) },
    { key: 'k', does: 'previous turn', run: () => mark(marked - 1) },
    { key: 'e', does: 'what the model was sent and replied', run: () => void exchangeOf(marked) },
    {
      key: 'p',
      does: 'the terminal at this turn',
      run: () => request.onPlay?.(shown[marked]?.step.number ?? 1),
    },
    {
      key: 'o',
      does: 'unfold the turn',
      run: () => {
        for (const each of shown[marked]?.card.querySelectorAll('details') ?? []) each.toggleAttribute('open')
      },
    },
  ]
}

interface Loading {
  readonly folder: string
  readonly file: string
  readonly section: HTMLElement
  readonly shown: Shown[]
  readonly mark: (at: number, scroll?: boolean) => void
  readonly exchangeOf: (at: number) => Promise<void>
}

const pageSize = 40

/** Loads the steps of a file and of its continuations. */
async function loadFile(request: TurnsRequest, loading: Loading): Promise<void> {
  const { page, place, trial } = request
  const { section, shown } = loading
  const more = h('button', null, 'Show more turns')
  const foot = h('p', { class: 'foot' })
  section.append(foot)
  let file = loading.file
  // Shows files that continue in each other only once.
  const seen = new Set([file])
  let offset = 0
  let firstAt: number | null = null
  let isWaiting = false
  const wanted = Number(page.query.get('turn') ?? 0)
  const next = async (limit = pageSize): Promise<void> => {
    if (isWaiting) return
    isWaiting = true
    const found = await get<ViewSteps>([...place, 'steps'], { file, offset, limit }, page.signal).catch(
      (error: Error) => error,
    )
    isWaiting = false
    if (page.signal.aborted) return
    if (found instanceof Error)
      return void fill(
        foot,
        h('span', { class: 'dim' }, trial.record === null ? 'The agent has not started.' : line(found.message)),
      )
    for (const step of found.steps) {
      firstAt ??= step.timestamp === null ? null : Date.parse(step.timestamp)
      section.insertBefore(addTurn(request, loading, { step, file, firstAt }), foot)
      if (shown.length === wanted) requestAnimationFrame(() => loading.mark(wanted - 1))
    }
    offset += found.steps.length
    const isEnd = found.total !== null && offset >= found.total
    if (isEnd && found.continues !== null && !seen.has(found.continues)) {
      section.insertBefore(h('p', { class: 'between' }, `Continues in ${line(found.continues)}`), foot)
      file = found.continues
      seen.add(file)
      offset = 0
      return next()
    }
    const told =
      found.trouble ?? (isEnd ? '' : `${whole(offset)} of ${found.total === null ? 'more' : whole(found.total)} turns`)
    fill(foot, line(told), ' ', !isEnd && more)
    if (wanted > shown.length && !isEnd) return next(200)
    if (isEnd && trial.record === null) setTimeout(() => void next(), 2000)
  }
  more.addEventListener('click', () => void next())
  const watcher = new IntersectionObserver((entries) => {
    if (entries.some(({ isIntersecting }) => isIntersecting) && more.isConnected) void next()
  })
  watcher.observe(foot)
  page.signal.addEventListener('abort', () => watcher.disconnect())
  await next()
}

interface NewTurn {
  readonly step: ViewStep
  readonly file: string
  /** The time of the first turn. */
  readonly firstAt: number | null
}

/** Appends the card of the next turn. */
function addTurn(request: TurnsRequest, { shown, folder, ...loading }: Loading, { step, file, firstAt }: NewTurn) {
  const at = shown.length
  const numbered = { ...step, number: at + 1 }
  const card = turnCard(numbered, firstAt, {
    exchange: () => void loading.exchangeOf(at),
    play: request.onPlay && (() => request.onPlay?.(at + 1)),
    link: () => loading.mark(at, false),
    subagent: (name) => subagentSection(request, { folder, file, name }),
    raw: rawAddress(request.place, file.split('#')[0] ?? file),
  })
  shown.push({ card, step: numbered, folder })
  return card
}

function noSteps({ files }: ViewTrial): string {
  const wrote = files.some(({ path }) => /(^|\/)agent\//.test(path))
  return wrote
    ? 'The agent wrote no trajectory; the tab Files shows what it did write.'
    : 'The agent wrote no trajectory.'
}

/** A subagent's trajectory at its place, loaded when unfolded. It has its own file or is part of its agent's. */
function subagentSection(request: TurnsRequest, of: { folder: string; file: string; name: string }): HTMLElement {
  const { folder, name } = of
  const isInside = name.startsWith('#')
  const file = isInside ? `${of.file}${name}` : `${folder}/${name}`
  const title = isInside ? decodeURIComponent(name.slice(1)) : name
  const details = h('details', { class: 'subagent' }, h('summary', null, `Subagent: ${line(title)}`))
  details.addEventListener(
    'toggle',
    () => {
      const section = h('section', { class: 'turns' })
      details.append(section)
      const nothing = { mark: () => {}, exchangeOf: async () => {} }
      void loadFile({ ...request, onPlay: null }, { folder, file, section, shown: [], ...nothing })
    },
    { once: true },
  )
  return details
}

/** The last call before the step was written. */
function callFor({ timestamp, source }: ViewStep, list: ViewCalls | null): number | null {
  if (timestamp === null || source !== 'agent') return null
  const at = Date.parse(timestamp)
  const before = (list?.calls ?? []).filter((call) => Date.parse(call.timestamp) <= at)
  return before.at(-1)?.call ?? null
}
