import type { ViewText } from '../../src/core/view.ts'
import type { ViewEvidence } from '../../src/core/view-data.ts'
import { isExport } from '../api.ts'
import { append, type Child, h } from '../dom.ts'
import { clean, line, whole } from '../text.ts'

export interface MarkedTextSettings {
  /** Passages to highlight; positions refer to the text. */
  readonly evidence: readonly ViewEvidence[]
  /** Search words to highlight. */
  readonly words: readonly string[]
  /** The number of lines shown at first. */
  readonly lines: number
  /** Loads more of the text from a position on. */
  readonly more: (from: number) => Promise<ViewText>
}

const firstChars = 4000

/**
 * A text with passages and words highlighted. A long one shows its beginning and unfolds the rest, loading what was not
 * sent.
 */
export function markedText({ text, chars }: ViewText, settings: MarkedTextSettings): Child {
  const all = text.replace(/\s+$/, '')
  const headEnd = endOfLines(all, settings.lines)
  const mustShow = settings.evidence.some(({ start }) => start >= headEnd)
  const isLong = !mustShow && headEnd < all.length - 200
  const pre = h('pre', { tabindex: '0' })
  append(pre, pieces(isLong ? all.slice(0, headEnd) : all, settings))
  const foot = h('p', { class: 'foot' })
  let shown = text.length
  const offerRest = () => {
    foot.replaceChildren()
    if (chars === undefined || shown >= chars) return
    if (isExport) {
      append(foot, [`The first ${whole(shown)} of ${whole(chars)} characters. The rest is not part of this export.`])
      return
    }
    const button = h('button', { class: 'quiet', onclick: () => void load(button) }, 'Show more')
    append(foot, [`The first ${whole(shown)} of ${whole(chars)} characters.`, button])
  }
  const load = async (button: HTMLButtonElement) => {
    button.disabled = true
    const next = await settings.more(shown)
    shown += next.text.length
    append(pre, pieces(next.text, { ...settings, evidence: [] }))
    offerRest()
  }
  if (isLong) {
    const rows = all.split('\n').length
    const title = rows > settings.lines ? `Show all ${whole(rows)} lines` : `Show all ${whole(all.length)} characters`
    const unfold = () => {
      pre.replaceChildren()
      append(pre, pieces(all, settings))
      offerRest()
    }
    append(foot, [h('button', { class: 'quiet', onclick: unfold }, title)])
  } else offerRest()
  return [pre, foot.hasChildNodes() && foot]
}

function endOfLines(text: string, lines: number): number {
  let at = -1
  for (let i = 0; i < lines; i++) {
    at = text.indexOf('\n', at + 1)
    if (at < 0) return Math.min(text.length, firstChars)
  }
  return Math.min(at, firstChars)
}

function pieces(text: string, { evidence, words }: MarkedTextSettings): Child[] {
  const found: Child[] = []
  let at = 0
  for (const { start, end, sign } of [...evidence].sort((a, b) => a.start - b.start)) {
    if (start < at || start >= text.length || end <= start) continue
    found.push(...withWords(text.slice(at, start), words))
    found.push(h('mark', { class: 'evidence', title: line(sign) }, clean(text.slice(start, end))))
    at = end
  }
  found.push(...withWords(text.slice(at), words))
  return found
}

function withWords(text: string, words: readonly string[]): Child[] {
  if (words.length === 0) return [clean(text)]
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${words.map(escaped).join('|')})(?![\\p{L}\\p{N}])`, 'giu')
  return text.split(pattern).map((part, i) => (i % 2 === 1 ? h('mark', null, clean(part)) : clean(part)))
}

function escaped(word: string): string {
  return word.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

/** The words of a search query. */
export function wordsIn(query: string): string[] {
  return [...new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])].slice(0, 50)
}
