import type { LineHistory } from './line-history.ts'

/** What a reader sees on looking at a screen again. */
export interface Look {
  /** `new`: only what was not there before. */
  readonly kind: 'new' | 'screen'
  readonly text: string
}

export interface ScreenState {
  /** Lines that scrolled off; the first row has the number after them. */
  readonly past: LineHistory
  readonly rows: readonly string[]
  /** The cursor's row. */
  readonly cursor: number
}

interface Memory {
  /** The number of the first row. */
  readonly top: number
  /** Rows down to the cursor's, which is the last. */
  readonly rows: readonly string[]
}

/**
 * Remembers the rows down to the cursor by their number since the beginning, so that repeated text counts as new, and
 * nothing is shown twice. If a program overwrote what was already seen, the whole screen is shown.
 */
export class ScreenObserver {
  private memory: Memory | null = null

  look(screen: ScreenState): Look {
    const fresh = this.memory === null ? '' : freshText(screen, this.memory)
    this.memory = { top: screen.past.end, rows: screen.rows.slice(0, screen.cursor + 1) }
    if (fresh.trim() !== '') return { kind: 'new', text: fresh }
    return { kind: 'screen', text: screen.rows.join('\n').trimEnd() }
  }

  forget(): void {
    this.memory = null
  }
}

/** Empty when nothing is new, or when new text cannot be determined. */
function freshText(screen: ScreenState, { top, rows: seen }: Memory): string {
  const last = top + seen.length - 1
  const isOverwritten = seen.slice(0, -1).some((text, i) => (rowAt(screen, top + i) ?? text) !== text)
  if (isOverwritten) return ''
  const from = rowAt(screen, last) === seen.at(-1) ? last + 1 : last
  const { past, rows } = screen
  const lines = [...past.slice(from), ...rows.slice(Math.max(0, from - past.end))]
  const forgotten = past.start - from
  const notice = forgotten > 0 ? [`[... ${forgotten} earlier lines are no longer kept ...]`] : []
  return [...notice, ...lines].join('\n').trimEnd()
}

function rowAt({ past, rows }: ScreenState, number: number): string | undefined {
  return number < past.end ? past.at(number) : rows[number - past.end]
}
