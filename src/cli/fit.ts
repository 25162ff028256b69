import { unicodeWidths } from '../lib/terminal/width.ts'

/** How many terminal columns a text takes. */
export function columnsOf(text: string): number {
  let columns = 0
  for (const sign of text) columns += unicodeWidths.wcwidth(sign.codePointAt(0) ?? 0)
  return columns
}

/** Cuts the middle out of a line to fit the given number of columns. */
export function cutMiddle(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text
  const room = Math.max(columns - 5, 2)
  const tail = Math.floor(room / 3)
  return `${begin([...text], room - tail)} ... ${begin([...text].reverse(), tail, true)}`
}

/** Cuts the middle out of a long text; `--full` shows it. */
export function shortened(text: string, chars: number): string {
  if (text.length <= chars) return text
  const half = Math.floor(chars / 2)
  const left = text.length - 2 * half
  return `${text.slice(0, half)}\n[... ${left} more characters, --full shows them ...]\n${text.slice(-half)}`
}

function begin(signs: readonly string[], columns: number, isReversed = false): string {
  const kept: string[] = []
  let used = 0
  for (const sign of signs) {
    used += columnsOf(sign)
    if (used > columns) break
    kept.push(sign)
  }
  return (isReversed ? kept.reverse() : kept).join('')
}

/** Wraps text at the given number of columns, breaking words longer than a line. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (columnsOf(longer) <= columns) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    line = word
    while (columnsOf(line) > columns) {
      const head = begin([...line], columns)
      lines.push(head)
      line = line.slice(head.length)
    }
  }
  return line === '' && lines.length > 0 ? lines : [...lines, line]
}
