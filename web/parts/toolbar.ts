import { fill, h } from '../dom.ts'
import type { Page } from '../page.ts'
import { line, whole } from '../text.ts'
import { words } from './outcome.ts'

/** A search field for a list that keeps its text in the address. */
export function searchBox(page: Page, label: string, onChange: () => void): HTMLElement {
  let timer: ReturnType<typeof setTimeout> | undefined
  const input = h('input', {
    ...{
      type: 'search',
      placeholder: label,
      'aria-label': label,
      value: page.query.get('q') ?? '',
      spellcheck: 'false',
    },
    oninput: () => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        page.remember({ q: input.value })
        onChange()
      }, 120)
    },
  })
  return h('label', { class: 'search' }, input)
}

/** A drop-down that filters a list by state. */
export function stateSelect(page: Page, label: string, values: readonly string[], onChange: () => void): HTMLElement {
  const now = page.query.get('filter') ?? ''
  const select = h(
    'select',
    {
      'aria-label': label,
      onchange: () => {
        page.remember({ filter: select.value })
        onChange()
      },
    },
    h('option', { value: '' }, `${label}: all`),
    ...values.map((value) =>
      h('option', { value, selected: value === now }, (words as Readonly<Record<string, string>>)[value] ?? value),
    ),
  )
  return select
}

/** A drop-down that filters a list by a value of its items, with the number of items for each. */
export function valueSelect(page: Page, name: string, title: string, onChange: () => void) {
  const select = h('select', {
    'aria-label': title,
    onchange: () => {
      page.remember({ [name]: select.value })
      onChange()
    },
  })
  const show = (values: readonly (readonly [string, number])[]) => {
    const now = page.query.get(name) ?? ''
    const listed = now === '' || values.some(([value]) => value === now) ? values : [[now, 0] as const, ...values]
    fill(
      select,
      h('option', { value: '' }, `${title}: all`),
      ...listed.map(([value, rows]) =>
        h('option', { value, selected: value === now }, `${line(value).slice(0, 60)} (${whole(rows)})`),
      ),
    )
    select.hidden = values.length < 2 && now === ''
  }
  show([])
  return { select, show }
}

/** A table's column headers; those with a key sort the list. */
export function sortHeads(
  page: Page,
  columns: readonly (readonly [key: string, title: string])[],
  onChange: () => void,
): HTMLElement[] {
  const heads: HTMLElement[] = []
  const mark = () => {
    const sort = page.query.get('sort') ?? ''
    for (const [i, [key]] of columns.entries()) {
      const isSorted = key !== '' && sort.replace(/^-/, '') === key
      if (isSorted) heads[i]?.setAttribute('aria-sort', sort.startsWith('-') ? 'descending' : 'ascending')
      else heads[i]?.removeAttribute('aria-sort')
    }
  }
  for (const [key, title] of columns) {
    const sortBy = () => {
      page.remember({ sort: page.query.get('sort') === `-${key}` ? key : `-${key}` })
      mark()
      onChange()
    }
    heads.push(h('th', { scope: 'col' }, key === '' ? title : h('button', { class: 'sort', onclick: sortBy }, title)))
  }
  mark()
  return heads
}

export interface Tab {
  readonly id: string
  readonly title: string
  readonly show: (panel: HTMLElement) => void
}

/** Tabs whose selection is kept in the address. Each renders its content when selected. */
export function makeTabs(page: Page, tabs: readonly Tab[]) {
  const panel = h('div', { role: 'tabpanel', class: 'panel', tabindex: '0' })
  const buttons = tabs.map(({ id, title }) =>
    h('button', { role: 'tab', id: `tab-${id}`, onclick: () => choose(id) }, title),
  )
  const bar = h('div', { role: 'tablist', class: 'tabs' }, ...buttons)
  const choose = (id: string) => {
    const at = Math.max(
      0,
      tabs.findIndex((tab) => tab.id === id),
    )
    for (const [i, button] of buttons.entries()) {
      button.setAttribute('aria-selected', String(i === at))
      button.tabIndex = i === at ? 0 : -1
    }
    page.remember({ tab: at === 0 ? null : (tabs[at]?.id ?? null) })
    panel.setAttribute('aria-labelledby', `tab-${tabs[at]?.id}`)
    panel.replaceChildren()
    tabs[at]?.show(panel)
  }
  bar.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    event.stopPropagation()
    const at = buttons.findIndex((button) => button.getAttribute('aria-selected') === 'true')
    const next = buttons[(at + step + buttons.length) % buttons.length]
    next?.click()
    next?.focus()
  })
  return { bar, panel, choose, start: () => choose(page.query.get('tab') ?? '') }
}
