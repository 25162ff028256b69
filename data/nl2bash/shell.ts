/** A word of a command, and whether it involved a quote or a backslash. */
export interface Word {
  readonly text: string
  readonly quoted: boolean
}

/** The programs of a pipe with their words; null if a shell would do more with the line than run a simple pipe. */
export function parsePipe(line: string): Word[][] | null {
  const stages: Word[][] = [[]]
  let text = ''
  let started = false
  let quoted = false
  const end = () => {
    if (started) stages.at(-1)?.push({ text, quoted })
    text = ''
    started = false
    quoted = false
  }
  for (let at = 0; at < line.length; at++) {
    const char = line.charAt(at)
    if (char === "'" || char === '"') {
      const close = closingQuote(line, at)
      if (close < 0) return null
      const inside = line.slice(at + 1, close)
      if (char === '"' && /[$`\\]/.test(inside.replace(/\\[."()*+?|$\\]/g, ''))) return null
      text += char === '"' ? inside.replace(/\\(["$\\`])/g, '$1') : inside
      started = true
      quoted = true
      at = close
    } else if (char === '\\') {
      if (at + 1 >= line.length) return null
      text += line.charAt(++at)
      started = true
      quoted = true
    } else if (/\s/.test(char)) {
      end()
    } else if (char === '|') {
      if (line.charAt(at + 1) === '|' || line.charAt(at + 1) === '&') return null
      end()
      stages.push([])
    } else if (
      /[;&<>()`$#~{}!]/.test(char) &&
      !(char === '~' && (started || /^~(?:\/|\s|$)/.test(line.slice(at)))) &&
      !(char === '{' && line.slice(at, at + 2) === '{}') &&
      !(char === '}' && line.charAt(at - 1) === '{') &&
      !(char === '!' && /^!(?:\s|$)/.test(line.slice(at)))
    ) {
      return null
    } else {
      text += char
      started = true
    }
  }
  end()
  return stages.every((stage) => stage.length > 0) ? stages : null
}

function closingQuote(line: string, open: number): number {
  const quote = line.charAt(open)
  for (let at = open + 1; at < line.length; at++) {
    if (quote === '"' && line.charAt(at) === '\\') at++
    else if (line.charAt(at) === quote) return at
  }
  return -1
}

/** A pipe written so that a shell reads the same words back, quoted where necessary. */
export function renderPipe(stages: readonly (readonly Word[])[]): string {
  return stages.map((words) => words.map(({ text }) => quote(text)).join(' ')).join(' | ')
}

function quote(text: string): string {
  return /^[A-Za-z0-9_./:=@%+,{}-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** A row's text with plain keyboard dashes and quotation marks. */
export function plainMarks(text: string): string {
  return text
    .replace(/(?<!`)`([^`']+)'(?!')/g, "'$1'")
    .replace(/``([^`']+)''/g, '"$1"')
    .replace(/[‘’‚‛′]/g, "'")
    .replace(/[“”„‟″]/g, '"')
    .replace(/[‐‑‒–—―−]/g, '-')
    .replace(/[\u00a0\u2000-\u200a\u202f]/g, ' ')
    .replace(/…/g, '...')
}
