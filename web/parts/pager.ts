import type { ViewPage } from '../../src/core/view.ts'
import { h } from '../dom.ts'
import { whole } from '../text.ts'

export interface Pager {
  readonly foot: HTMLElement
  /** Starts over after a change of filters or items. `keep` loads as many as are shown now. */
  reload(keep?: boolean): Promise<void>
}

export interface PagerSettings<T> {
  readonly size: number
  readonly signal: AbortSignal
  readonly load: (offset: number, limit: number, signal: AbortSignal) => Promise<ViewPage<T>>
  /** Shows items; `fresh` means replacing those shown now. */
  readonly show: (items: readonly T[], fresh: boolean) => void
  readonly noun: string
}

/** A list that loads more when its end scrolls into view. */
export function makePager<T>({ size, signal, load, show, noun }: PagerSettings<T>): Pager {
  const items: T[] = []
  const text = h('span')
  // Hidden until the first page of items says that there are more.
  const more = h('button', { hidden: true, onclick: () => void next() }, 'Show more')
  const foot = h('p', { class: 'foot' }, text, more)
  let loading = new AbortController()
  let busy = false
  let again: ReturnType<typeof setTimeout> | undefined
  const take = (page: ViewPage<T>, fresh: boolean) => {
    if (fresh) items.length = 0
    items.push(...page.items)
    show(page.items, fresh)
    const rest = page.complete ? '' : ', still reading'
    text.textContent = `${whole(items.length)} of ${whole(page.total)} ${noun}${rest}`
    more.hidden = items.length >= page.total
    clearTimeout(again)
    if (!page.complete && !signal.aborted) again = setTimeout(() => void reload(true), 700)
  }
  const fetchPage = async (offset: number, limit: number, fresh: boolean) => {
    loading.abort()
    loading = new AbortController()
    const own = loading.signal
    busy = true
    try {
      const page = await load(offset, limit, AbortSignal.any([signal, own]))
      if (!own.aborted && !signal.aborted) take(page, fresh)
    } catch (error) {
      if (!own.aborted && !signal.aborted) throw error
    } finally {
      if (!own.aborted) busy = false
    }
  }
  const next = () => (busy ? Promise.resolve() : fetchPage(items.length, size, false))
  const reload = (keep = false) => fetchPage(0, keep ? Math.min(1000, Math.max(size, items.length)) : size, true)
  const watcher = new IntersectionObserver((entries) => {
    if (entries.some(({ isIntersecting }) => isIntersecting) && !more.hidden) void next()
  })
  watcher.observe(foot)
  signal.addEventListener('abort', () => {
    watcher.disconnect()
    clearTimeout(again)
  })
  return { foot, reload }
}
