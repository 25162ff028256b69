import type { NewRun, PreviousRun, RunForm, RunPreview, StartedRun } from '../../src/core/new-run.ts'
import { ApiError, askRuns } from '../api.ts'
import { fill, h } from '../dom.ts'
import { go, type Page, to } from '../page.ts'
import { runFields } from '../parts/run-fields.ts'
import { startedList } from '../parts/started-runs.ts'
import { line } from '../text.ts'

type Kind = NewRun['kind']
const kinds: readonly (readonly [kind: Kind, title: string])[] = [
  ['run', 'Run'],
  ['eval', 'Evaluation'],
  ['recipe', 'Recipe'],
]

/** How often runs that were started are looked at while one of them goes on. */
const lookMs = 700

/** Configures and starts a run, an evaluation or a recipe, and shows the command that does the same. */
export async function newRunPage(page: Page): Promise<void> {
  const { main, query, signal } = page
  page.head([])
  const form = await askRuns<RunForm>(['form'], signal)
  const command = h('code')
  const trouble = h('p', { class: 'problems', role: 'status' })
  const start = h('button', { class: 'main', type: 'submit', disabled: true }, 'Start')
  const missing = h('p', { class: 'dim' })
  const place = h('div')
  const started = h('section', { 'aria-label': 'Started from here' })
  let fields = runFields(form, 'run', {}, () => {})
  let asked = 0

  const preview = async () => {
    const mine = ++asked
    const { command: text, problems } = await askRuns<RunPreview>(['preview'], signal, fields.draft())
    if (mine !== asked) return
    start.disabled = text === null
    if (text !== null) command.textContent = line(text)
    say(problems.map(({ field, message }) => `${titleOf(field)}: ${message}`).join('; '))
  }
  const say = (text: string) => {
    trouble.textContent = line(text)
  }
  const titleOf = (field: string) =>
    place.querySelector(`label[for="field-${CSS.escape(field)}"]`)?.textContent ?? field
  const safely = (work: () => Promise<void>) => () =>
    void work().catch((error: unknown) => {
      if (!signal.aborted) say(textOf(error))
    })
  const show = (kind: Kind, given: Readonly<Record<string, unknown>>, notCarried: readonly string[] = []) => {
    fields = runFields(form, kind, { jobName: newName(kind), ...given }, safely(preview))
    fill(place, fields.element)
    missing.textContent =
      notCarried.length === 0 ? '' : `Not taken over from that job: ${notCarried.map(line).join(', ')}.`
    for (const button of kindButtons) button.setAttribute('aria-pressed', String(button.dataset.kind === kind))
    safely(preview)()
  }
  const kindButtons = kinds.map(([kind, title]) =>
    h('button', { type: 'button', 'data-kind': kind, onclick: () => show(kind, keptFor(kind)) }, title),
  )
  /** What was typed stays when the kind changes, where the other kind has the same fields. */
  const keptFor = (kind: Kind): Readonly<Record<string, unknown>> => {
    const { jobName: _, kind: before, ...kept } = fields.draft()
    return (before === 'recipe') === (kind === 'recipe') ? kept : {}
  }
  const prefill = async (id: string) => {
    page.remember({ from: id })
    const { run, missing: left } = await askRuns<PreviousRun>(['from', id], signal)
    show(run.kind, { ...run }, left)
  }
  const look = async () => {
    const { runs } = await askRuns<{ runs: readonly StartedRun[] }>([], signal)
    startedList(started, runs, (id) => safely(async () => stop(id))())
    if (runs.some(({ state }) => state !== 'ended')) again()
  }
  let timer: ReturnType<typeof setTimeout> | undefined
  const again = () => {
    clearTimeout(timer)
    timer = setTimeout(() => !signal.aborted && safely(look)(), lookMs)
  }
  const stop = async (id: string) => {
    await askRuns([id, 'stop'], signal, {})
    await look()
  }
  const submit = async () => {
    start.disabled = true
    try {
      await askRuns([], signal, fields.draft())
      page.say('Started.')
      await look()
    } finally {
      start.disabled = false
    }
  }

  fill(
    main,
    h('h1', null, 'New run'),
    h(
      'p',
      { class: 'dim' },
      'Starts on this machine, in ',
      h('bdi', null, line(form.dir)),
      ', and goes on when the viewer stops.',
    ),
    h(
      'div',
      { class: 'tools' },
      h('div', { role: 'group', 'aria-label': 'Kind of run', class: 'kinds' }, ...kindButtons),
      previousSelect(form, query.get('from'), (id) => safely(() => prefill(id))()),
    ),
    missing,
    h(
      'form',
      {
        onsubmit: (event: Event) => {
          event.preventDefault()
          safely(submit)()
        },
      },
      place,
      h('h2', { id: 'command-title' }, 'The same in a shell'),
      h('pre', { class: 'shell', tabindex: '0', 'aria-labelledby': 'command-title' }, command),
      trouble,
      h(
        'div',
        { class: 'tools' },
        start,
        h('button', { type: 'button', onclick: () => copy(page, command) }, 'Copy the command'),
      ),
    ),
    started,
  )
  const from = query.get('from')
  if (from !== null && form.previous.includes(from)) await prefill(from)
  else show('run', {})
  await look()
  page.keys([{ key: 'Escape', does: 'back to the jobs', run: () => go(to([])) }])
}

function previousSelect(form: RunForm, from: string | null, onChoose: (id: string) => void): HTMLElement {
  const select = h(
    'select',
    { 'aria-label': 'Begin with an earlier job', onchange: () => select.value !== '' && onChoose(select.value) },
    h('option', { value: '' }, 'Begin with an earlier job'),
    ...form.previous.map((id) => h('option', { value: id, selected: id === from }, line(id))),
  )
  return select
}

async function copy(page: Page, element: HTMLElement): Promise<void> {
  await navigator.clipboard?.writeText(element.textContent ?? '').catch(() => {})
  page.say('Copied.')
}

/** A name that no job has yet: the kind and the time. */
function newName(kind: Kind): string {
  const now = new Date()
  const local = new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString()
  return `${kind}-${local.slice(0, 19).replace('T', '__').replaceAll(':', '-')}`
}

function textOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return error instanceof ApiError && error.hint !== null ? `${message} (${error.hint})` : message
}
