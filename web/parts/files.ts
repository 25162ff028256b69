import type { ViewTextWindow } from '../../src/core/view.ts'
import { get, rawAddress } from '../api.ts'
import { fill, h } from '../dom.ts'
import type { Page } from '../page.ts'
import { bytes, clean, line } from '../text.ts'

interface Listed {
  readonly path: string
  readonly bytes: number | null
}

/** How much of a file is shown; reading more requires a download. */
const mostShown = 2 << 20

/** A list of files and the text of the selected one. */
export function fileViewer(
  page: Page,
  place: readonly string[],
  files: readonly Listed[],
  first: string | null,
): HTMLElement {
  const text = h('div', { class: 'file' })
  const buttons = files.map(({ path, bytes: size }) =>
    h(
      'button',
      { class: 'file-name', onclick: () => open(path) },
      h('bdi', null, line(path)),
      size !== null && h('span', { class: 'dim' }, ` ${bytes(size)}`),
    ),
  )
  const open = (path: string) => {
    page.remember({ file: path })
    for (const [i, button] of buttons.entries()) button.setAttribute('aria-current', String(files[i]?.path === path))
    fill(text, fileText(page, place, path))
  }
  const asked = page.query.get('file') ?? first
  const start = files.find(({ path }) => path === asked) ?? files[0]
  if (start) open(start.path)
  return h('div', { class: 'files' }, h('nav', { 'aria-label': 'Files', class: 'file-list' }, ...buttons), text)
}

/** The text of a file, loaded piece by piece. */
export function fileText(page: Page, place: readonly string[], path: string): HTMLElement {
  const pre = h('pre', { tabindex: '0' })
  const info = h('span', { class: 'dim' })
  const more = h('button', { onclick: () => void load(to), hidden: true }, 'Show more')
  const end = h('button', { onclick: () => void load(Math.max(0, size - 65_536), true), hidden: true }, 'Go to the end')
  const save = place.length > 2 ? saveLink(rawAddress(place, path), 'Save') : null
  let to = 0
  let size = 0
  const load = async (from: number, fresh = false) => {
    const part = await get<ViewTextWindow>(
      [...place, 'text'],
      { path, from, bytes: from === 0 ? 65_536 : 262_144 },
      page.signal,
    ).catch((error: Error) => {
      if (!page.signal.aborted) pre.append(clean(error.message))
      return null
    })
    if (!part) return
    if (fresh) fill(pre)
    pre.append(clean(pretty(path, part)))
    ;({ to, size } = part)
    info.textContent = `${part.from === 0 && to === size ? '' : `up to ${bytes(to)} of `}${bytes(size)}`
    more.hidden = to >= size || (pre.textContent?.length ?? 0) > mostShown
    end.hidden = to >= size
  }
  void load(0)
  return h(
    'div',
    null,
    h('div', { class: 'tools' }, h('code', null, line(path)), info, save),
    pre,
    h('p', { class: 'foot' }, more, end),
  )
}

/** A download link; null if the file is not available. */
export function saveLink(address: string | null, text: string): HTMLElement | null {
  return address === null ? null : h('a', { href: address, download: '' }, text)
}

/** Reformats a complete JSON file over several lines for reading. */
function pretty(path: string, { text, from, to, size }: ViewTextWindow): string {
  if (!path.endsWith('.json') || from > 0 || to < size) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
