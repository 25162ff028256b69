import type { NewRun, RunForm } from '../../src/core/new-run.ts'
import { type Child, h } from '../dom.ts'

type Kind = NewRun['kind']
type Known = keyof RunForm['known']

interface Field {
  readonly name: string
  readonly title: string
  readonly hint?: string
  readonly as: 'text' | 'number' | 'lines' | 'check' | 'choice'
  readonly kinds: readonly Kind[]
  /** Suggested names. */
  readonly known?: Known
}

interface Group {
  readonly title: string
  readonly fields: readonly Field[]
}

const jobs: readonly Kind[] = ['run', 'eval']
const recipe: readonly Kind[] = ['recipe']

const groups: readonly Group[] = [
  {
    title: 'Tasks',
    fields: [
      { name: 'benchmark', title: 'Benchmark', as: 'text', kinds: ['eval'], known: 'benchmarks' },
      { name: 'tasks', title: 'Folder', hint: 'a task, or a folder of tasks', as: 'text', kinds: jobs },
      {
        name: 'dataset',
        title: 'Dataset',
        hint: 'NAME@VERSION, a .parquet file, hf:org/name',
        as: 'text',
        kinds: jobs,
      },
      { name: 'fetch', title: 'Fetch tasks that are not on this machine', as: 'check', kinds: jobs },
      { name: 'include', title: 'Only tasks matching', hint: 'one pattern per line', as: 'lines', kinds: jobs },
      { name: 'limit', title: 'Maximum tasks', as: 'number', kinds: jobs },
    ],
  },
  {
    title: 'Agent and model',
    fields: [
      {
        name: 'agent',
        title: 'Agent',
        hint: 'empty: oracle, or terminus-2 with a model',
        as: 'text',
        kinds: jobs,
        known: 'agents',
      },
      { name: 'agentOptions', title: 'Options of the agent', hint: 'one KEY=VALUE per line', as: 'lines', kinds: jobs },
      { name: 'models', title: 'Models', hint: 'one name per line', as: 'lines', kinds: jobs },
      {
        name: 'apiBase',
        title: 'Address of the model server',
        hint: 'http://localhost:8000/v1',
        as: 'text',
        kinds: jobs,
      },
      {
        name: 'apiKeyEnv',
        title: 'Environment variable with its key',
        hint: 'the name, never the key itself',
        as: 'text',
        kinds: jobs,
      },
      { name: 'engine', title: 'Engine', as: 'text', kinds: jobs, known: 'engines' },
      {
        name: 'engineOptions',
        title: 'Options of the engine',
        hint: 'one KEY=VALUE per line',
        as: 'lines',
        kinds: jobs,
      },
    ],
  },
  {
    title: 'How',
    fields: [
      { name: 'sandbox', title: 'Sandboxes', hint: 'empty: local', as: 'text', kinds: jobs, known: 'sandboxes' },
      {
        name: 'sandboxOptions',
        title: 'Options of sandboxes',
        hint: 'one KEY=VALUE per line',
        as: 'lines',
        kinds: jobs,
      },
      { name: 'attempts', title: 'Attempts at each task', as: 'number', kinds: jobs },
      { name: 'concurrency', title: 'Trials at once', as: 'number', kinds: jobs },
      { name: 'maxRetries', title: 'Retries after infrastructure failures', as: 'number', kinds: jobs },
      { name: 'budgetUsd', title: 'Budget in USD', as: 'number', kinds: jobs },
    ],
  },
  {
    title: 'Recipe',
    fields: [
      { name: 'file', title: 'File', as: 'text', kinds: recipe, known: 'recipes' },
      { name: 'set', title: 'Changes', hint: 'one STAGE.OPTION=VALUE per line', as: 'lines', kinds: recipe },
      { name: 'limit', title: 'Maximum rows per source', as: 'number', kinds: recipe },
      { name: 'rehearse', title: 'Rehearse: two rows of each source, offline', as: 'check', kinds: recipe },
      { name: 'out', title: 'Folder for results', hint: 'empty: runs/NAME', as: 'text', kinds: recipe },
    ],
  },
  {
    title: 'Where to keep it',
    fields: [
      { name: 'jobsDir', title: 'Jobs directory', as: 'choice', kinds: jobs },
      {
        name: 'jobName',
        title: 'Name of the job',
        hint: 'the name of an interrupted job resumes it',
        as: 'text',
        kinds: jobs,
      },
      {
        name: 'passEnv',
        title: 'Environment variables for tasks',
        hint: 'one name per line',
        as: 'lines',
        kinds: [...jobs, 'recipe'],
      },
    ],
  },
]

export interface RunFields {
  readonly element: HTMLElement
  /** The current values of the fields, as a request before validation. */
  draft(): Readonly<Record<string, unknown>>
}

/** The fields for a kind of run, filled with the given values. */
export function runFields(
  form: RunForm,
  kind: Kind,
  given: Readonly<Record<string, unknown>>,
  onChange: () => void,
): RunFields {
  const inputs = new Map<Field, Input>()
  const rowOf = (field: Field): HTMLElement => {
    const input = inputOf(field, form, given[field.name])
    inputs.set(field, input)
    input.addEventListener('input', onChange)
    const id = `field-${field.name}`
    input.id = id
    const hint = field.hint === undefined ? null : h('span', { class: 'dim', id: `${id}-hint` }, field.hint)
    if (hint) input.setAttribute('aria-describedby', hint.id)
    const label = h('label', { for: id }, field.title)
    const parts: Child[] = field.as === 'check' ? [input, label] : [label, input, hint]
    return h('div', { class: `field ${field.as}` }, ...parts, suggestions(field, form))
  }
  const sets = groups.flatMap(({ title, fields }) => {
    const own = fields.filter(({ kinds }) => kinds.includes(kind))
    return own.length === 0 ? [] : h('fieldset', null, h('legend', null, title), ...own.map(rowOf))
  })
  return {
    element: h('div', { class: 'fields' }, ...sets),
    draft: () => {
      const values = [...inputs].map(([field, input]) => [field.name, typedIn(field, input)] as const)
      return { kind, ...Object.fromEntries(values.filter(([, value]) => value !== undefined)) }
    },
  }
}

type Input = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

function inputOf(field: Field, form: RunForm, given: unknown): Input {
  const plain = { autocomplete: 'off', spellcheck: 'false' }
  if (field.as === 'check') return h('input', { type: 'checkbox', checked: given === true })
  if (field.as === 'choice')
    return h('select', null, ...form.jobsDirs.map((dir) => h('option', { value: dir, selected: dir === given }, dir)))
  if (field.as === 'lines') {
    const lines = Array.isArray(given) ? given.map(String) : []
    return h('textarea', { ...plain, rows: Math.min(8, Math.max(2, lines.length)) }, lines.join('\n'))
  }
  const list = field.known === undefined ? {} : { list: `known-${field.known}` }
  const number = field.as === 'number' ? { inputmode: 'decimal' } : {}
  return h('input', { ...plain, ...list, ...number, type: 'text', value: given === undefined ? '' : String(given) })
}

function suggestions({ known }: Field, form: RunForm): HTMLElement | null {
  if (known === undefined) return null
  return h('datalist', { id: `known-${known}` }, ...form.known[known].map((name) => h('option', { value: name })))
}

/** The value of a field; an invalid number stays text, so that the server can report it. */
function typedIn({ as }: Field, input: Input): unknown {
  if (input instanceof HTMLInputElement && as === 'check') return input.checked ? true : undefined
  const text = input.value.trim()
  if (text === '') return undefined
  if (as === 'lines') return text.split('\n').flatMap((each) => each.trim() || [])
  return as === 'number' && Number.isFinite(Number(text)) ? Number(text) : text
}
