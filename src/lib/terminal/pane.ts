import type { LineHistory } from './line-history.ts'
import type { Look } from './look.ts'

/** Lines that a tmux pane keeps above its screen by default. When it is full, a tenth is dropped at once. */
const historyLimit = 2000

/**
 * The lines above the screen that a tmux pane would still have: tmux drops old ones, and a program may erase them all.
 */
export class PaneHistory {
  private start = 0

  constructor(private readonly past: LineHistory) {}

  /** A line leaves the screen. */
  push(line: string): void {
    if (this.past.end - this.start >= historyLimit) this.start += historyLimit / 10
    this.past.push(line)
  }

  erase(): void {
    this.start = this.past.end
  }

  get lines(): string[] {
    return this.past.slice(this.start)
  }
}

/**
 * Reads a pane as Harbor's agent does: it searches the current lines for those of the last reading, and what follows
 * them, including their own last line, is new. If they are not found, the visible screen is shown.
 */
export class PaneReader {
  private before: string | null = null

  /** `above`: lines that left the screen; `rows`: the screen, with its empty rows. */
  read(above: readonly string[], rows: readonly string[]): Look {
    const screen = { kind: 'screen', text: paneText(rows) } as const
    const now = above.length === 0 ? screen.text : paneText(above) + screen.text
    const fresh = this.before === null ? null : freshText(this.before, now)
    this.before = now
    return fresh === null || fresh.trim() === '' ? screen : { kind: 'new', text: fresh }
  }
}

/** Every row with its line end, as tmux prints a pane. */
export function paneText(rows: readonly string[]): string {
  return rows.length === 0 ? '' : `${rows.join('\n')}\n`
}

/**
 * The cut is as far into the current text as the last line is in the previous text, wherever that was found: if the
 * pane begins with empty rows, the cut comes that much earlier. Distances are counted in characters.
 */
function freshText(before: string, now: string): string | null {
  const seen = before.trim()
  const found = now.indexOf(seen)
  if (found < 0) return null
  const lastLine = seen.lastIndexOf('\n')
  if (lastLine < 0 || found === 0) return now.slice(lastLine < 0 ? found : lastLine)
  const ahead = [...seen.slice(0, lastLine)].length
  return [...now].slice(ahead).join('')
}
