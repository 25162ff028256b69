export interface HistoryLimits {
  readonly lines: number
  readonly chars: number
}

/**
 * Lines that scrolled off a screen, numbered from 0 and never renumbered; when there are too many, the oldest are
 * forgotten.
 */
export class LineHistory {
  private lines: string[] = []
  private dropped = 0
  private chars = 0

  constructor(private readonly limits: HistoryLimits) {}

  /** The number the next line will have. */
  get end(): number {
    return this.dropped + this.lines.length
  }

  /** The number of the oldest line still kept. */
  get start(): number {
    return this.dropped
  }

  push(line: string): void {
    this.lines.push(line)
    this.chars += line.length
    if (this.lines.length > this.limits.lines || this.chars > this.limits.chars) this.forget()
  }

  at(number: number): string | undefined {
    return this.lines[number - this.dropped]
  }

  slice(from: number, to = this.end): string[] {
    return this.lines.slice(Math.max(0, from - this.dropped), Math.max(0, to - this.dropped))
  }

  /** Drops a tenth at once, so that a long flood does not move the whole list for every line. */
  private forget(): void {
    let count = 0
    let chars = this.chars
    const keepLines = this.limits.lines * 0.9
    const keepChars = this.limits.chars * 0.9
    while (count < this.lines.length && (this.lines.length - count > keepLines || chars > keepChars)) {
      chars -= this.lines[count]?.length ?? 0
      count++
    }
    this.lines = this.lines.slice(count)
    this.dropped += count
    this.chars = chars
  }
}
