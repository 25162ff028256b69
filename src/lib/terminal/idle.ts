/** Ends every prompt of a marked shell; terminals recognize it as the end of a prompt and show nothing. */
export const promptMark = '\x1b]133;B\x07'

/**
 * Variables that make bash end its prompts with the mark, whatever PS1 its start-up files or the user set. A shell that
 * ignores them never appears idle.
 */
export const promptMarkEnv: Readonly<Record<string, string>> = {
  PROMPT_COMMAND: `case "$PS1" in *'133;B'*) ;; *) PS1="$PS1"'\\[\\e]133;B\\a\\]' ;; esac`,
}

/** How long nothing may follow the mark before the shell counts as idle, when more input may be waiting for it. */
const quietMs = 15

export interface WaitOptions {
  readonly ms: number
  /** Return as soon as the shell writes anything, or is idle again; otherwise wait the full time. */
  readonly wait: 'output' | 'idle' | 'full'
  /** No other input is waiting for the shell, so the next prompt ends it; this is the default. */
  readonly isLastInput?: boolean
  readonly signal?: AbortSignal
}

/** Watches every piece of output and knows whether the shell's prompt was the last thing written. */
export class PromptWatch {
  private tail = ''
  private isOver = false
  private onOutput: (() => void) | null = null
  private onEnd: (() => void) | null = null

  note(chunk: string): void {
    const size = promptMark.length
    this.tail = chunk.length >= size ? chunk.slice(-size) : (this.tail + chunk).slice(-size)
    this.onOutput?.()
  }

  /** The program is gone: nothing is worth waiting for any longer. */
  end(): void {
    this.isOver = true
    this.onEnd?.()
  }

  get isAtPrompt(): boolean {
    return this.tail === promptMark
  }

  /** Whether the program has written anything. */
  get hasWritten(): boolean {
    return this.tail !== ''
  }

  /** Waits for the next prompt or until the time is up; only output from now on counts. One wait at a time. */
  async wait({ ms, wait, isLastInput = true, signal }: WaitOptions): Promise<void> {
    signal?.throwIfAborted()
    if (this.isOver) return
    let timer: NodeJS.Timeout | undefined
    let quiet: NodeJS.Timeout | undefined
    let stop: (() => void) | undefined
    try {
      await new Promise<void>((resolve, reject) => {
        timer = setTimeout(resolve, ms)
        this.onEnd = resolve
        stop = () => reject(signal?.reason)
        signal?.addEventListener('abort', stop, { once: true })
        if (wait === 'full') return
        this.onOutput = () => {
          if (wait === 'output') return resolve()
          clearTimeout(quiet)
          if (!this.isAtPrompt) return
          quiet = setTimeout(() => this.afterReading(resolve), isLastInput ? 0 : quietMs)
        }
      })
    } finally {
      clearTimeout(timer)
      clearTimeout(quiet)
      if (stop) signal?.removeEventListener('abort', stop)
      this.onOutput = null
      this.onEnd = null
    }
  }

  /** On a busy machine some output may not have been read yet; after the next round of input it has. */
  private afterReading(resolve: () => void): void {
    setImmediate(() => {
      if (this.isAtPrompt) resolve()
    })
  }
}
