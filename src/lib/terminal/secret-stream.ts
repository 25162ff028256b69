/** The most terminal codes in a row that may interrupt a secret. */
const gapItems = 8
const escapeCharacter = '\u001b'
/** What a terminal may put between two characters of a text: colors, a line wrap, a line end. */
const gapItem = new RegExp(` ?\\r|\\n|${escapeCharacter}\\[[0-9;:?]{0,24}[A-Za-z]`, 'y')
/** The beginning of one at the very end of a text. */
const gapBegun = new RegExp(`(?: |${escapeCharacter}(?:\\[[0-9;:?]{0,24})?)$`, 'y')

/**
 * Removes secrets from a terminal's output, which comes in pieces: a secret may be split anywhere, partly colored, or
 * wrapped at the edge of the screen. What may be the beginning of one is held back until more has arrived.
 */
export class SecretStream {
  private readonly secrets: readonly string[]
  private readonly begins: RegExp | null
  private held = ''

  constructor(
    secrets: readonly string[],
    private readonly mask: string,
  ) {
    this.secrets = [...secrets].filter((secret) => secret !== '').sort((a, b) => b.length - a.length)
    const first = [...new Set(this.secrets.map((secret) => secret.charCodeAt(0)))]
    const codes = first.map((code) => `\\u${code.toString(16).padStart(4, '0')}`)
    this.begins = codes.length > 0 ? new RegExp(`[${codes.join('')}]`, 'g') : null
  }

  /** Takes a piece; returns what can be written so far. */
  push(piece: string): string {
    return this.take(piece, false)
  }

  /** The rest: nothing more can complete a secret in what was held back. */
  end(): string {
    return this.take('', true)
  }

  private take(piece: string, isLast: boolean): string {
    if (!this.begins) return piece
    const text = this.held + piece
    this.held = ''
    let [shown, from] = ['', 0]
    this.begins.lastIndex = 0
    for (let found = this.begins.exec(text); found; found = this.begins.exec(text)) {
      const end = this.endOfSecret(text, found.index, isLast)
      if (end === null) continue
      shown += text.slice(from, found.index)
      if (end === 'open') {
        this.held = text.slice(found.index)
        return shown
      }
      shown += this.mask
      from = end
      this.begins.lastIndex = end
    }
    return shown + text.slice(from)
  }

  /** Where a secret that begins here ends; `open` if the text ends first, null if there is none. */
  private endOfSecret(text: string, at: number, isLast: boolean): number | 'open' | null {
    for (const secret of this.secrets) {
      const end = matchEnd(text, at, secret)
      if (end !== null && !(isLast && end === 'open')) return end
    }
    return null
  }
}

function matchEnd(text: string, start: number, secret: string): number | 'open' | null {
  let at = start
  for (let i = 0; i < secret.length; i++) {
    const next = i === 0 || text[at] === secret[i] ? at : afterGap(text, at, secret[i])
    if (next === 'open' || next >= text.length) return 'open'
    if (text[next] !== secret[i]) return null
    at = next + 1
  }
  return at
}

/** Where the text continues after what a terminal puts between two characters. */
function afterGap(text: string, start: number, wanted: string | undefined): number | 'open' {
  let at = start
  for (let items = 0; items < gapItems && at < text.length && text[at] !== wanted; items++) {
    gapItem.lastIndex = at
    if (!gapItem.test(text)) {
      gapBegun.lastIndex = at
      return gapBegun.test(text) ? 'open' : at
    }
    at = gapItem.lastIndex
  }
  return at
}
