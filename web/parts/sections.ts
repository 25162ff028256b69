import type { ViewSections } from '../../src/core/view-board.ts'
import { get } from '../api.ts'
import { fill, h } from '../dom.ts'

const sections = [
  { key: 'jobs', title: 'Jobs', to: '#/', paths: /^\/?$|^\/(jobs|compare)\b/ },
  { key: 'board', title: 'Leaderboard', to: '#/board', paths: /^\/(board|models)\b/ },
  { key: 'tasks', title: 'Tasks', to: '#/tasks', paths: /^\/tasks\b/ },
  { key: 'data', title: 'Data', to: '#/data', paths: /^\/(data|recipes)\b/ },
  { key: 'runs', title: 'New run', to: '#/new', paths: /^\/new\b/ },
] as const

let known: ViewSections | null = null

/** The section that a path belongs to: the start of its breadcrumbs. */
export function sectionOf(path: string): { readonly text: string; readonly to: string } {
  const { title, to } = sections.find(({ paths }) => paths.test(path)) ?? sections[0]
  return { text: title, to }
}

/** Links to the other sections with content: first the known ones, then whatever the server has now. */
export function sectionLinks(path: string): HTMLElement {
  const nav = h('nav', { 'aria-label': 'Sections', class: 'sections' })
  const show = (found: ViewSections) => {
    const others = sections.filter(({ key, paths }) => found[key] && !paths.test(path))
    fill(nav, ...others.map(({ title, to }) => h('a', { href: to }, title)))
  }
  if (known) show(known)
  get<ViewSections>(['sections'], {}, new AbortController().signal).then(
    (found) => {
      if (JSON.stringify(found) !== JSON.stringify(known)) show(found)
      known = found
    },
    () => {},
  )
  return nav
}
