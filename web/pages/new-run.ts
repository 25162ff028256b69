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

/** How often to poll started runs while one of them is running. */
const lookMs = 700

/** Configures and starts a run, an evaluation or a recipe, and shows the equivalent command. */
export async function newRunPage(page: Page): Promise<void> {
  page.head([])
  const form = await askRuns<RunForm>(['form'], page.signal)
  const shell = makeShell(page)
  const started = makeStarted(page, shell)
  const choice = makeChoice(page, form, shell)
  const submit = async () => {
    await shell.start(choice.draft())
    await started.look()
  }
  const onsubmit = (event: Event) => {
    event.preventDefault()
    shell.safely(submit)
  }
  fill(
    page.main,
    h('h1', null, 'New run'),
    h(
      'p',
      { class: 'dim' },
      'It starts on this machine, in ',
      h('bdi', null, line(form.dir)),
      ', and keeps running when the viewer stops.',
    ),
    ...choice.elements,
    h('form', { onsubmit }, choice.fields, ...shell.elements),
    started.section,
  )
  const from = page.query.get('from')
  if (from !== null && form.previous.includes(from)) await choice.prefill(from)
  else choice.show('run', {})
  await started.look()
  page.keys([{ key: 'Escape', does: 'back to the jobs', run: () => go(to([])) }])
}

/** The form's values before validation. */
type Draft = ReturnType<ReturnType<typeof runFields>['draft']>

interface Shell {
  readonly elements: readonly HTMLElement[]
  /** Shows any error. */
  safely(work: () => Promise<void>): void
  /** Shows the command for a draft, or what is wrong with it. */
  preview(draft: Draft, titleOf: (field: string) => string): Promise<void>
  start(draft: Draft): Promise<void>
}

/** The equivalent command, the button that starts it, and any errors. */
function makeShell(page: Page): Shell {
  const { signal } = page
  const command = h('code')
  const trouble = h('p', { class: 'problems', role: 'status' })
  const button = h('button', { class: 'main', type: 'submit', disabled: true }, 'Start')
  let asked = 0
  const say = (text: string) => {
    trouble.textContent = line(text)
  }
  const onCopy = () => void copy(page, command)
  return {
    elements: [
      h('h2', { id: 'command-title' }, 'The same command in a shell'),
      h('pre', { class: 'shell', tabindex: '0', 'aria-labelledby': 'command-title' }, command),
      trouble,
      h('div', { class: 'tools' }, button, h('button', { type: 'button', onclick: onCopy }, 'Copy the command')),
    ],
    safely: (work) =>
      void work().catch((error: unknown) => {
        if (!signal.aborted) say(textOf(error))
      }),
    async preview(draft, titleOf) {
      const mine = ++asked
      const { command: text, problems } = await askRuns<RunPreview>(['preview'], signal, draft)
      if (mine !== asked) return
      button.disabled = text === null
      if (text !== null) command.textContent = line(text)
      say(problems.map(({ field, message }) => `${titleOf(field)}: ${message}`).join('; '))
    },
    async start(draft) {
      button.disabled = true
      try {
        await askRuns([], signal, draft)
        page.say('Started.')
      } finally {
        button.disabled = false
      }
    },
  }
}

/** Runs started from this page, polled while one of them is running. */
function makeStarted({ signal }: Page, { safely }: Shell) {
  const section = h('section', { 'aria-label': 'Started from here' })
  let timer: ReturnType<typeof setTimeout> | undefined
  const stop = async (id: string) => {
    await askRuns([id, 'stop'], signal, {})
    await look()
  }
  const look = async (): Promise<void> => {
    const { runs } = await askRuns<{ runs: readonly StartedRun[] }>([], signal)
    startedList(section, runs, (id) => safely(() => stop(id)))
    if (runs.every(({ state }) => state === 'ended')) return
    clearTimeout(timer)
    timer = setTimeout(() => !signal.aborted && safely(look), lookMs)
  }
  return { section, look }
}

/** The kind of run and its fields, empty or copied from an earlier job. */
function makeChoice(page: Page, form: RunForm, { safely, preview }: Shell) {
  const missing = h('p', { class: 'dim' })
  const place = h('div')
  let fields = runFields(form, 'run', {}, () => {})
  const titleOf = (field: string) =>
    place.querySelector(`label[for="field-${CSS.escape(field)}"]`)?.textContent ?? field
  const onChange = () => safely(() => preview(fields.draft(), titleOf))
  const show = (kind: Kind, given: Readonly<Record<string, unknown>>, notCarried: readonly string[] = []) => {
    fields = runFields(form, kind, { jobName: newName(kind), ...given }, onChange)
    fill(place, fields.element)
    missing.textContent = notCarried.length === 0 ? '' : `Not copied from that job: ${notCarried.map(line).join(', ')}.`
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset.kind === kind))
    onChange()
  }
  /** Keeps what was typed when the kind changes, if the other kind has the same fields. */
  const keptFor = (kind: Kind): Readonly<Record<string, unknown>> => {
    const { jobName: _, kind: before, ...kept } = fields.draft()
    return (before === 'recipe') === (kind === 'recipe') ? kept : {}
  }
  const buttons = kinds.map(([kind, title]) =>
    h('button', { type: 'button', 'data-kind': kind, onclick: () => show(kind, keptFor(kind)) }, title),
  )
  const prefill = async (id: string) => {
    page.remember({ from: id })
    const { run, missing: left } = await askRuns<PreviousRun>(['from', id], page.signal)
    show(run.kind, { ...run }, left)
  }
  const group = h('div', { role: 'group', 'aria-label': 'Kind of run', class: 'kinds' }, ...buttons)
  const previous = previousSelect(form, page.query.get('from'), (id) => safely(() => prefill(id)))
  const elements = [h('div', { class: 'tools' }, group, previous), missing]
  return { elements, fields: place, show, prefill, draft: () => fields.draft() }
}

function previousSelect(form: RunForm, from: string | null, onChoose: (id: string) => void): HTMLElement {
  const select = h(
    'select',
    { 'aria-label': 'Start from an earlier job', onchange: () => select.value !== '' && onChoose(select.value) },
    h('option', { value: '' }, 'Start from an earlier job'),
    ...form.previous.map((id) => h('option', { value: id, selected: id === from }, line(id))),
  )
  return select
}

async function copy(page: Page, element: HTMLElement): Promise<void> {
  await navigator.clipboard?.writeText(element.textContent ?? '').catch(() => {})
  page.say('Copied.')
}

/** An unused job name: the kind and the time. */
function newName(kind: Kind): string {
  const now = new Date()
  const local = new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString()
  return `${kind}-${local.slice(0, 19).replace('T', '__').replaceAll(':', '-')}`
}

function textOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return error instanceof ApiError && error.hint !== null ? `${message} (${error.hint})` : message
}
