import type { Cast } from './cast.ts'
import { PromptWatch } from './idle.ts'
import { encodeKeystrokes, encodePaste, type NewlineKey } from './keys.ts'
import type { Look } from './look.ts'
import { Screen, type ScreenOptions } from './screen.ts'

/** The other end of a terminal: a program on a pseudo-terminal. */
export interface Pty {
  write(data: string): void
  onData(listener: (chunk: string) => void): () => void
  resize(cols: number, rows: number): void
  readonly exited: Promise<number>
  close(): Promise<void>
}

export interface SessionOptions extends Omit<ScreenOptions, 'reply'> {
  readonly cast?: Cast
  /** Receives every chunk as the program wrote it. */
  readonly onOutput?: (chunk: string) => void
  /** The key that types a line end. */
  readonly newline?: NewlineKey
}

export interface SendOptions {
  /** The longest wait. */
  readonly ms: number
  /** `idle`: return as soon as the shell shows its prompt again. `full`: wait the full time. */
  readonly wait: 'idle' | 'full'
  /** Pastes several lines at once into a program that supports it; by default they are typed. */
  readonly paste?: boolean
  readonly signal?: AbortSignal
}

export interface ReadyLimits {
  readonly outputMs: number
  readonly promptMs: number
}

/** A user at a terminal: types, waits, looks. */
export class TerminalSession {
  readonly screen: Screen
  private readonly watch = new PromptWatch()
  private over = false
  private readonly stopListening: () => void

  constructor(
    private readonly pty: Pty,
    private readonly options: SessionOptions,
  ) {
    this.screen = new Screen({ ...options, reply: (data) => pty.write(data) })
    this.stopListening = pty.onData((chunk) => {
      this.screen.feed(chunk)
      this.watch.note(chunk)
      options.cast?.output(chunk)
      options.onOutput?.(chunk)
    })
    void pty.exited.then(() => {
      this.over = true
      this.watch.end()
    })
  }

  /** Whether the program in the terminal is gone. */
  get isOver(): boolean {
    return this.over
  }

  /** Types keystrokes, key names included, and waits; an empty text only waits. Returns early when the program ends. */
  async send(keystrokes: string, { ms, wait, paste = false, signal }: SendOptions): Promise<void> {
    const { modes } = this.screen
    const isPaste = paste && modes.bracketedPaste && /\n./s.test(keystrokes)
    const data = isPaste ? encodePaste(keystrokes) : encodeKeystrokes(keystrokes, modes, this.options.newline)
    const isLastInput = this.watch.isAtPrompt && /^[^\r\n]*[\r\n]$/.test(data)
    const waiting = this.watch.wait({ ms, wait, isLastInput, ...(signal && { signal }) })
    if (data !== '') {
      this.options.cast?.input(data)
      this.pty.write(data)
    }
    await waiting
  }

  /**
   * Waits for the first prompt, at most `promptMs` after the first output. On a busy machine a shell may take much longer
   * to start than to go on from there, so the output itself may take `outputMs`.
   */
  async ready({ outputMs, promptMs }: ReadyLimits, signal?: AbortSignal): Promise<void> {
    const more = signal && { signal }
    if (!this.watch.hasWritten) await this.watch.wait({ ms: outputMs, wait: 'output', ...more })
    if (!this.watch.isAtPrompt) await this.watch.wait({ ms: promptMs, wait: 'idle', ...more })
  }

  /** What is new on the screen since the last look. */
  async look(): Promise<Look> {
    await this.screen.settled()
    return this.screen.look()
  }

  /** The same by the rules of a tmux pane. */
  async lookAtPane(): Promise<Look> {
    await this.screen.settled()
    return this.screen.lookAtPane()
  }

  /** The text of the screen as it is now, as tmux prints a pane. */
  async visiblePane(): Promise<string> {
    await this.screen.settled()
    return this.screen.visiblePane()
  }

  /** The text of the screen as it is now. */
  async visible(): Promise<string> {
    await this.screen.settled()
    return this.screen.visible()
  }

  resize(cols: number, rows: number): void {
    this.pty.resize(cols, rows)
    this.screen.resize(cols, rows)
    this.options.cast?.resize(cols, rows)
  }

  /** Stops watching and recording; the program continues. */
  async leave(): Promise<void> {
    this.stopListening()
    await this.screen.settled()
    this.screen.dispose()
    await this.options.cast?.close()
  }

  /** Ends the program and leaves. */
  async close(): Promise<void> {
    await this.pty.close()
    await this.leave()
  }
}
