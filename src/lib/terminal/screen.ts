import xterm, { type IBuffer, type Terminal } from '@xterm/headless'
import { Feeder } from './feeder.ts'
import { refuseEndlessSequences } from './guard.ts'
import { LineHistory } from './line-history.ts'
import { type Look, ScreenObserver } from './look.ts'
import { PaneHistory, PaneReader, paneText } from './pane.ts'
import { endsInText, fewestCols, mostRowsPerSlice } from './slices.ts'
import { unicodeWidths } from './width.ts'

export interface ScreenOptions {
  readonly cols: number
  readonly rows: number
  /** Lines kept after they scrolled off. Default 50,000, and never more than 4 million characters. */
  readonly historyLines?: number
  /** Characters that may wait to be shown before some are left out. Default 2 million. */
  readonly backlogChars?: number
  /** Receives the terminal's answers to a program's queries, for example for the cursor's position. */
  readonly reply?: (data: string) => void
}

/** Rows that the emulator itself keeps above the screen: as many as one slice can move there, with some margin. */
const scrollback = mostRowsPerSlice + 64
const trimAt = 32
const mostErasures = 100
const eraseScrollback = '\x1b[3J'

/** A terminal screen as a reader sees it: fed with a program's output, read as text. */
export class Screen {
  private readonly emulator: Terminal
  private readonly feeder: Feeder
  private readonly past: LineHistory
  private readonly onlooker = new ScreenObserver()
  private readonly pane: PaneHistory
  private readonly paneReader = new PaneReader()
  /** Screens copied in this slice before they were erased. */
  private erasures = 0
  /** True while we erase, which keeps the emulator small. */
  private isTrimming = false
  /** Rows above the screen that are already in `past`. */
  private kept = 0

  constructor(options: ScreenOptions) {
    this.emulator = new xterm.Terminal({
      cols: Math.max(options.cols, fewestCols),
      rows: options.rows,
      scrollback,
      allowProposedApi: true,
      logLevel: 'off',
    })
    this.emulator.unicode.register(unicodeWidths)
    this.emulator.unicode.activeVersion = unicodeWidths.version
    this.past = new LineHistory({ lines: options.historyLines ?? 50_000, chars: 4_000_000 })
    this.pane = new PaneHistory(this.past)
    const most = options.backlogChars ?? 2_000_000
    this.feeder = new Feeder((slice, done) => this.parse(slice, done), { most, keep: Math.ceil(most / 4) })
    if (options.reply) this.emulator.onData(options.reply)
    refuseEndlessSequences(this.emulator)
    this.keepBeforeErasing()
  }

  feed(text: string): void {
    this.feeder.push(text)
  }

  /** Resolves once everything fed so far is on the screen. */
  settled(): Promise<void> {
    return this.feeder.settled()
  }

  /** Characters left out because they came too fast. */
  get skippedChars(): number {
    return this.feeder.skipped
  }

  /** Whether a full-screen program is using the screen. */
  get alternate(): boolean {
    return this.emulator.buffer.active.type === 'alternate'
  }

  get modes(): { readonly applicationCursor: boolean; readonly bracketedPaste: boolean } {
    const { applicationCursorKeysMode, bracketedPasteMode } = this.emulator.modes
    return { applicationCursor: applicationCursorKeysMode, bracketedPaste: bracketedPasteMode }
  }

  /** The text of the screen, without trailing empty rows. */
  visible(): string {
    return this.rowsOf(this.emulator.buffer.active).join('\n').trimEnd()
  }

  /** The text of the screen as tmux prints a pane: every row with its line end, including empty ones. */
  visiblePane(): string {
    return paneText(this.rowsOf(this.emulator.buffer.active))
  }

  /** What is new on the screen by the rules of a tmux pane; it repeats some earlier text, and includes empty rows. */
  lookAtPane(): Look {
    return this.paneReader.read(this.pane.lines, this.rowsOf(this.emulator.buffer.active))
  }

  /** The lines tmux would print for a whole pane: what it still keeps, then the screen. */
  paneLines(): string[] {
    return [...this.pane.lines, ...this.rowsOf(this.emulator.buffer.active)]
  }

  /** The kept lines that scrolled off, then the ordinary screen. */
  history(): string[] {
    return [...this.past.slice(this.past.start), ...this.rowsOf(this.emulator.buffer.normal)]
  }

  /** What is new since the last look, or the whole screen if new text cannot be told from old. */
  look(): Look {
    if (this.alternate) return { kind: 'screen', text: this.visible() }
    const { normal } = this.emulator.buffer
    const rows = this.rowsOf(normal)
    return this.onlooker.look({ past: this.past, rows, cursor: normal.cursorY })
  }

  resize(cols: number, rows: number): void {
    this.keep()
    this.emulator.resize(Math.max(cols, fewestCols), rows)
    // Rows that moved back onto the screen, or were rewrapped, are not the rows that were seen.
    this.kept = Math.min(this.kept, this.emulator.buffer.normal.baseY)
    this.keep()
    this.onlooker.forget()
  }

  dispose(): void {
    this.emulator.dispose()
  }

  private parse(slice: string, done: () => void): void {
    this.erasures = 0
    this.emulator.write(slice, () => {
      this.keep()
      const { active } = this.emulator.buffer
      if (active.type === 'normal' && active.baseY > trimAt && endsInText(slice)) {
        this.isTrimming = true
        this.emulator.write(eraseScrollback, () => {
          this.isTrimming = false
          done()
        })
      } else done()
    })
  }

  /** Copies rows that left the screen. */
  private keep(): void {
    const { normal } = this.emulator.buffer
    for (; this.kept < normal.baseY; this.kept++) this.pane.push(rowText(normal, this.kept))
    // Full: rows may have been lost unseen, so it is unknown what is new.
    if (normal.baseY >= scrollback) this.onlooker.forget()
  }

  /**
   * A program may erase the screen and what is above it, or reset everything. Our copy of earlier rows stays. As in
   * tmux, rows of a screen that is erased from its first cell on move above it, and erasing what is above leaves the
   * screen alone.
   */
  private keepBeforeErasing(): void {
    const { parser, buffer } = this.emulator
    parser.registerCsiHandler({ final: 'J' }, ([what]) => {
      const { active } = buffer
      if (what === 3) {
        this.keep()
        if (active.type === 'normal') this.kept = 0
        if (!this.isTrimming) this.pane.erase()
      } else if (what === 2 || (!what && active.cursorX === 0 && active.cursorY === 0)) this.keepScreen()
      return false
    })
    parser.registerEscHandler({ final: 'c' }, () => {
      this.keepScreen()
      this.kept = 0
      this.onlooker.forget()
      return false
    })
  }

  /** Copies the rows of the ordinary screen, down to the last non-empty one. */
  private keepScreen(): void {
    this.keep()
    // Reading a screen takes far longer than erasing it, which a program may do thousands of times a second.
    if (this.alternate || ++this.erasures > mostErasures) return
    const rows = this.rowsOf(this.emulator.buffer.normal)
    const used = rows.findLastIndex((row) => row !== '') + 1
    for (const row of rows.slice(0, used)) this.pane.push(row)
  }

  private rowsOf(buffer: IBuffer): string[] {
    return Array.from({ length: this.emulator.rows }, (_, y) => rowText(buffer, buffer.baseY + y))
  }
}

function rowText(buffer: IBuffer, y: number): string {
  const text = buffer.getLine(y)?.translateToString(true) ?? ''
  // The emulator concatenates cell by cell; reading one character makes the text contiguous in memory.
  let end = text.length
  while (text.charCodeAt(end - 1) === 0x20) end--
  return end === text.length ? text : text.slice(0, end)
}
