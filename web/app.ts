import type { ViewEvent } from '../src/core/view.ts'
import { ApiError, isExport, keepKey } from './api.ts'
import { fill, h } from './dom.ts'
import type { Key, Page } from './page.ts'
import { boardPage } from './pages/board.ts'
import { comparePage } from './pages/compare.ts'
import { datasetPage } from './pages/dataset.ts'
import { datasetRowPage } from './pages/dataset-row.ts'
import { datasetsPage } from './pages/datasets.ts'
import { jobPage } from './pages/job.ts'
import { jobsPage } from './pages/jobs.ts'
import { modelPage } from './pages/model.ts'
import { newRunPage } from './pages/new-run.ts'
import { droppedPage, recipePage } from './pages/recipe.ts'
import { taskPage } from './pages/task.ts'
import { tasksPage } from './pages/tasks.ts'
import { trialPage } from './pages/trial.ts'
import { sectionLinks, sectionOf } from './parts/sections.ts'
import { line } from './text.ts'

const top = element('top')
const main = element('main')
const status = element('status')
let current = new AbortController()
let keys: readonly Key[] = []
let shownPath = ''

const pages: readonly (readonly [pattern: RegExp, page: (page: Page) => Promise<void>])[] = [
  [/^\/?$/, jobsPage],
  [/^\/board$/, boardPage],
  [/^\/models\/([^/]+)$/, modelPage],
  [/^\/compare$/, comparePage],
  [/^\/jobs\/([^/]+)$/, jobPage],
  [/^\/jobs\/([^/]+)\/trials\/([^/]+)$/, trialPage],
  [/^\/tasks$/, tasksPage],
  [/^\/tasks\/([^/]+)$/, taskPage],
  [/^\/data$/, datasetsPage],
  [/^\/data\/([^/]+)$/, datasetPage],
  [/^\/data\/([^/]+)\/rows\/([^/]+)$/, datasetRowPage],
  [/^\/recipes\/([^/]+)$/, recipePage],
  [/^\/recipes\/([^/]+)\/dropped\/([^/]+)$/, droppedPage],
  [/^\/new$/, newRunPage],
]

addEventListener('hashchange', () => void show())
addEventListener('keydown', onKey)
// Following the link would replace the page's own address.
document.querySelector('.skip')?.addEventListener('click', (event) => {
  event.preventDefault()
  main.focus()
})
void show()

async function show(): Promise<void> {
  const [path = '/', search = ''] = location.hash.replace(/^#/, '').split('?')
  current.abort()
  current = new AbortController()
  keys = []
  const { signal } = current
  const found = pages.map(([pattern, page]) => [pattern.exec(path), page] as const).find(([match]) => match)
  if (path !== shownPath) scrollTo(0, 0)
  shownPath = path
  try {
    if (!found) throw new ApiError(404, 'there is no such page', null)
    const page = makePage((found[0] ?? []).slice(1).map(decodeURIComponent), new URLSearchParams(search), signal)
    const key = page.query.get('key')
    if (key !== null) {
      keepKey(key)
      page.remember({ key: null })
    }
    await found[1](page)
    if (!signal.aborted) main.setAttribute('data-ready', path)
  } catch (error) {
    if (signal.aborted) return
    fill(main, trouble(error))
    main.setAttribute('data-ready', path)
  }
}

function makePage(names: readonly string[], query: URLSearchParams, signal: AbortSignal): Page {
  main.removeAttribute('data-ready')
  return {
    ...{ main, names, query, signal },
    head(crumbs, side) {
      document.title = [...crumbs.map(({ text }) => line(text)).reverse(), 'ot-agent'].join(' · ')
      const items = [sectionOf(shownPath), ...crumbs].map(({ text, to }, i, all) =>
        h(
          'li',
          null,
          to !== undefined && i < all.length - 1
            ? h('a', { href: to }, h('bdi', null, line(text)))
            : h('bdi', { 'aria-current': 'page' }, line(text)),
        ),
      )
      const help = h('button', { class: 'quiet', onclick: showKeys, title: 'Keys (?)' }, 'Keys')
      fill(
        top,
        h('nav', { 'aria-label': 'Path' }, h('ol', null, ...items)),
        h('div', { class: 'side' }, side, sectionLinks(shownPath), help),
      )
    },
    keys: (own) => {
      keys = own
    },
    remember(changes) {
      for (const [key, value] of Object.entries(changes)) {
        if (value === null || value === '') query.delete(key)
        else query.set(key, value)
      }
      const search = query.toString()
      const [path] = location.hash.split('?')
      history.replaceState(null, '', `${path || '#/'}${search === '' ? '' : `?${search}`}`)
    },
    say(text) {
      status.textContent = line(text)
      setTimeout(() => {
        if (status.textContent === line(text)) status.textContent = ''
      }, 4000)
    },
    live(onEvent) {
      if (isExport) return
      const source = new EventSource('api/events')
      source.addEventListener('message', ({ data }) => onEvent(JSON.parse(data) as ViewEvent))
      signal.addEventListener('abort', () => source.close())
    },
  }
}

function trouble(error: unknown): HTMLElement {
  const message = error instanceof Error ? error.message : String(error)
  const hint = error instanceof ApiError ? error.hint : null
  return h(
    'section',
    { class: 'trouble' },
    h('h1', null, error instanceof ApiError && error.status === 404 ? 'Not found' : 'This could not be shown'),
    h('p', null, line(message)),
    hint && h('p', { class: 'dim' }, line(hint)),
    h('p', null, h('a', { href: sectionOf(shownPath).to }, 'Back')),
  )
}

function onKey(event: KeyboardEvent): void {
  const { target, key } = event
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const inField =
    target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement
  if (inField && key === 'Escape') target.blur()
  const dialog = document.querySelector('dialog[open]')
  if ((inField && target.type !== 'checkbox' && target.type !== 'range') || dialog) return
  // Enter and space belong to the focused element.
  const focused = document.activeElement
  if ((key === 'Enter' || key === ' ') && focused?.matches('a, button, summary, input, [role=tab]')) return
  const own = key === '?' ? { run: showKeys } : keys.find((each) => each.key === key)
  if (!own) return
  event.preventDefault()
  own.run()
}

function showKeys(): void {
  const all = [...keys, { key: '?', does: 'show keyboard shortcuts' }].filter(({ does }) => does !== '')
  const dialog = h(
    'dialog',
    { class: 'keys', 'aria-label': 'Keys' },
    h('h2', { class: 'dialog-title' }, 'Keys'),
    h('dl', null, ...all.flatMap(({ key, does }) => [h('dt', null, h('kbd', null, named(key))), h('dd', null, does)])),
    h('form', { method: 'dialog' }, h('button', null, 'Close')),
  )
  document.body.append(dialog)
  dialog.addEventListener('close', () => dialog.remove())
  dialog.showModal()
}

function named(key: string): string {
  return { ArrowLeft: '←', ArrowRight: '→', Escape: 'Esc', ' ': 'Space' }[key] ?? key
}

function element(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (!found) throw new Error(`the page lacks #${id}`)
  return found
}
