import { sliceEnd } from './slices.ts'

/** When waiting text exceeds `most` characters, only the newest `keep` are shown. */
export interface BacklogLimits {
  readonly most: number
  readonly keep: number
}

/** How long one terminal may work before others get their turn. */
const turnMs = 4

/**
 * Passes text on in small slices, yielding to everything else in between. A program that floods is still read to the
 * end, but what the reader cannot keep up with is left out, and a line on the screen says so.
 */
export class Feeder {
  /** Characters that were left out. */
  skipped = 0
  private queue: string[] = []
  private offset = 0
  private accepted = 0
  private done = 0
  private running = false
  private turnStarted = 0
  private waiting: { upTo: number; resolve: () => void }[] = []

  constructor(
    private readonly parse: (slice: string, done: () => void) => void,
    private readonly limits: BacklogLimits,
  ) {}

  push(text: string): void {
    if (text === '') return
    this.accept(text)
    if (this.accepted - this.done > this.limits.most) this.skip()
    if (!this.running) {
      this.running = true
      this.turnStarted = performance.now()
      this.next()
    }
  }

  /** Resolves once everything pushed so far is parsed or left out. */
  settled(): Promise<void> {
    if (this.done >= this.accepted) return Promise.resolve()
    return new Promise((resolve) => this.waiting.push({ upTo: this.accepted, resolve }))
  }

  private accept(text: string): void {
    this.queue.push(text)
    this.accepted += text.length
  }

  private next(): void {
    const slice = this.take()
    if (slice === null) {
      this.running = false
      return
    }
    this.parse(slice, () => {
      this.finish(slice.length)
      if (performance.now() - this.turnStarted < turnMs) return this.next()
      setImmediate(() => {
        this.turnStarted = performance.now()
        this.next()
      })
    })
  }

  private take(): string | null {
    const head = this.queue[0]
    if (head === undefined) return null
    const end = sliceEnd(head, this.offset)
    const slice = head.slice(this.offset, end)
    this.offset = end
    if (end >= head.length) {
      this.queue.shift()
      this.offset = 0
    }
    return slice
  }

  private finish(chars: number): void {
    this.done += chars
    while (this.waiting[0] && this.waiting[0].upTo <= this.done) this.waiting.shift()?.resolve()
  }

  private skip(): void {
    const text = this.queue.join('').slice(this.offset)
    const cut = text.length - this.limits.keep
    const lineEnd = text.indexOf('\n', cut)
    const rest = text.slice(lineEnd >= 0 && lineEnd < cut + 4096 ? lineEnd + 1 : cut)
    const left = text.length - rest.length
    this.skipped += left
    this.queue = []
    this.offset = 0
    this.accepted -= rest.length
    // CAN ends any escape sequence that was cut in two.
    const notice = `\x18\x1b[m\r\n[... ${left} characters of output left out: they came faster than the screen shows ...]\r\n`
    for (const waiter of this.waiting) waiter.upTo += notice.length
    this.accept(notice)
    this.accept(rest)
    this.finish(left)
  }
}
