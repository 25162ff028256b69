import type { ViewEvent } from '../src/core/view.ts'
import type { Child } from './dom.ts'

/** A keyboard shortcut on a page. */
export interface Key {
  readonly key: string
  readonly does: string
  readonly run: () => void
}

/** What a page works with. The signal aborts when another page is shown. */
export interface Page {
  readonly main: HTMLElement
  readonly names: readonly string[]
  readonly query: URLSearchParams
  readonly signal: AbortSignal
  head(crumbs: readonly { readonly text: string; readonly to?: string }[], side?: Child): void
  keys(keys: readonly Key[]): void
  /** Changes the query in the address without loading the page again. */
  remember(changes: Readonly<Record<string, string | null>>): void
  /** Shows a message for a moment and announces it to screen readers. */
  say(text: string): void
  /** Calls back on every change to a job. */
  live(onEvent: (event: ViewEvent) => void): void
}

/** The address of one of our pages. */
export function to(names: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(query).toString()
  return `#/${names.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`
}

export function go(address: string): void {
  location.hash = address
}
