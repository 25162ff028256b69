import { Parser } from 'htmlparser2'

/** A page's text as Markdown, and every block of code in it unchanged. */
export interface MarkdownText {
  readonly text: string
  readonly code: readonly CodeBlock[]
}

export interface CodeBlock {
  readonly text: string
  /** The block's language according to the page, or null. */
  readonly language: string | null
  /** The last words before the block: they often say what it is. */
  readonly before: string
}

/**
 * Turns HTML as users write it in posts into Markdown: code stays fenced and unchanged, scripts and styles are removed,
 * nothing is fetched.
 */
export function htmlToMarkdown(html: string): MarkdownText {
  const page = new Page()
  // Most text has no entities at all: a parser that does not look for any is several times faster.
  const parser = new Parser(
    {
      onopentag: (name, attributes) => page.open(name, attributes),
      ontext: (text) => page.say(decode(text)),
      onclosetag: (name) => page.close(name),
    },
    { decodeEntities: false },
  )
  parser.write(html)
  parser.end()
  return page.finish()
}

/** Decodes a text with entities. */
function decode(text: string): string {
  if (!text.includes('&')) return text
  if (!/&(?!(?:lt|gt|amp|quot|#39);)/.test(text))
    return text
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&amp;', '&')
  let decoded = ''
  const parser = new Parser({ ontext: (piece) => (decoded += piece) })
  parser.write(text)
  parser.end()
  return decoded
}

const silent = new Set(['script', 'style', 'head', 'template', 'iframe', 'object'])
const paragraphs = new Set('p div section article table tr h1 h2 h3 h4 h5 h6 ul ol dl dt dd details summary'.split(' '))
const marks: Readonly<Record<string, string>> = { strong: '**', b: '**', em: '*', i: '*', del: '~~', s: '~~' }

/** Whitespace other than single spaces: two separate searches are faster than a combined one. */
const otherBlank = /[^\S ]/

class Page {
  readonly #code: CodeBlock[] = []
  #text = ''
  #line = ''
  #pre: { text: string; language: string | null } | null = null
  #span: string | null = null
  #lists: (number | null)[] = []
  #quotes = 0
  #hidden = 0
  #links: string[] = []
  /** Where raised and lowered text begins in its line or its code. */
  #raised: number[] = []

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (silent.has(name)) this.#hidden++
    if (this.#pre) {
      this.#pre.language ??= languageOf(attributes)
      if (name === 'br') this.#pre.text += '\n'
    } else if (name === 'pre') {
      this.#endParagraph()
      this.#pre = { text: '', language: languageOf(attributes) }
    } else if (name === 'code' || name === 'kbd' || name === 'tt') this.#span ??= ''
    else if (name === 'sup' || name === 'sub') this.#raised.push((this.#span ?? this.#line).length)
    else if (name === 'br') this.#line += '\n'
    else if (name === 'hr') this.#endParagraph('---')
    else if (name === 'img') this.#line += `[image: ${decode(attributes.alt ?? '').trim() || 'no words for it'}]`
    else if (name === 'a') this.#links.push(/^https?:/.test(attributes.href ?? '') ? decode(attributes.href ?? '') : '')
    else if (name === 'td' || name === 'th') this.#line += this.#line.trim() === '' ? '' : ' | '
    else if (marks[name]) this.#line += marks[name]
    else this.#openBlock(name, attributes)
  }

  #openBlock(name: string, attributes: Readonly<Record<string, string>>): void {
    if (name === 'li') {
      this.#endParagraph()
      const depth = Math.max(0, this.#lists.length - 1)
      const nth = this.#lists.at(-1)
      this.#line = `${'  '.repeat(depth)}${typeof nth === 'number' ? `${nth}.` : '-'} `
      if (typeof nth === 'number') this.#lists[this.#lists.length - 1] = nth + 1
      return
    }
    if (!paragraphs.has(name) && name !== 'blockquote') return
    // The paragraph of a list item stays on the item's line.
    if (!(name === 'p' && /^\s*(?:-|\d+\.) $/.test(this.#line))) this.#endParagraph()
    if (name === 'ul' || name === 'ol')
      this.#lists.push(name === 'ol' ? Number.parseInt(attributes.start ?? '1', 10) || 1 : null)
    if (name === 'blockquote') this.#quotes++
    if (/^h[1-6]$/.test(name)) this.#line = `${'#'.repeat(Number(name[1]))} `
  }

  say(text: string): void {
    if (this.#hidden > 0) return
    if (this.#pre) this.#pre.text += text
    else if (this.#span !== null) this.#span += text
    else this.#line += otherBlank.test(text) || text.includes('  ') ? text.replace(/\s+/g, ' ') : text
  }

  close(name: string): void {
    if (silent.has(name)) this.#hidden = Math.max(0, this.#hidden - 1)
    if (this.#pre) {
      if (name === 'pre') this.#endCode(this.#pre)
    } else if (name === 'code' || name === 'kbd' || name === 'tt') this.#endSpan()
    else if (name === 'sup' || name === 'sub') this.#endRaised(name === 'sup' ? '^' : '_')
    else if (name === 'a') this.#endLink(this.#links.pop() ?? '')
    else if (marks[name]) this.#line += marks[name]
    else if (paragraphs.has(name) || name === 'li' || name === 'blockquote') {
      this.#endParagraph()
      if (name === 'ul' || name === 'ol') this.#lists.pop()
      if (name === 'blockquote') this.#quotes = Math.max(0, this.#quotes - 1)
    }
  }

  finish(): MarkdownText {
    if (this.#pre) this.#endCode(this.#pre)
    this.#endSpan()
    this.#endParagraph()
    return { text: this.#text.trim(), code: this.#code }
  }

  #endSpan(): void {
    if (this.#span === null) return
    const fence = this.#span.includes('`') ? '``' : '`'
    // Without a blank, the fence and what it holds would be one fence.
    const blank = /^`|`$/.test(this.#span) ? ' ' : ''
    if (this.#span.trim() !== '')
      this.#line += `${fence}${blank}${this.#span.replace(/\s+/g, (gap) => (gap.includes('\n') ? ' ' : gap))}${blank}${fence}`
    this.#span = null
  }

  /** Two to the power of 32 is `2^32`, not 232. */
  #endRaised(mark: string): void {
    const text = this.#span ?? this.#line
    const at = this.#raised.pop() ?? text.length
    const inside = text.slice(at).trim()
    if (inside === '') return
    const marked = `${text.slice(0, at)}${mark}${/^\w+$/.test(inside) ? inside : `(${inside})`}`
    if (this.#span === null) this.#line = marked
    else this.#span = marked
  }

  #endLink(target: string): void {
    if (target !== '' && !this.#line.endsWith(target)) this.#line += ` (${target})`
  }

  #endCode({ text, language }: { text: string; language: string | null }): void {
    this.#pre = null
    const plain = text.replace(/\r\n?/g, '\n').replace(/^\n+/, '').trimEnd()
    if (plain === '') return
    this.#code.push({ text: plain, language, before: this.#text.trimEnd().split('\n\n').at(-1)?.slice(-200) ?? '' })
    const longest = Math.max(2, ...[...plain.matchAll(/`{3,}/g)].map(([run]) => run.length))
    const fence = '`'.repeat(longest + 1)
    this.#add(`${fence}${language ?? ''}\n${plain}\n${fence}`)
  }

  #endParagraph(instead?: string): void {
    const [first = '', ...rest] = this.#line.split('\n')
    const line = [first.trimEnd(), ...rest.map((part) => part.trim())].join('\n').trimEnd()
    this.#line = ''
    if (line.trim() !== '') this.#add(/^\s*(?:-|\d+\.) /.test(line) ? line : line.trim())
    if (instead !== undefined) this.#add(instead)
  }

  #add(block: string): void {
    const quoted = this.#quotes === 0 ? block : block.replace(/^/gm, '> '.repeat(Math.min(this.#quotes, 5)))
    const isItem = /^\s*(?:-|\d+\.) /
    const afterItem =
      isItem.test(quoted) && isItem.test(this.#text.slice(this.#text.lastIndexOf('\n', this.#text.length - 3) + 1))
    this.#text += `${this.#text === '' ? '' : afterItem ? '\n' : '\n\n'}${quoted}`
  }
}

function languageOf({ class: name = '' }: Readonly<Record<string, string>>): string | null {
  return /\b(?:lang(?:uage)?)-([\w+#-]+)/.exec(name)?.[1] ?? null
}
