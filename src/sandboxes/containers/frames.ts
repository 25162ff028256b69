/** Splits the stream of a command without a terminal: stdout and stderr arrive in frames with an 8-byte header. */
export class Frames {
  private header = Buffer.alloc(0)
  private left = 0
  private channel = 0

  constructor(private readonly take: (channel: 'stdout' | 'stderr', chunk: Buffer) => void) {}

  feed(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0) {
      if (this.left > 0) {
        const part = rest.subarray(0, this.left)
        this.left -= part.length
        rest = rest.subarray(part.length)
        this.take(this.channel === 2 ? 'stderr' : 'stdout', part)
        continue
      }
      const wanted = 8 - this.header.length
      this.header = Buffer.concat([this.header, rest.subarray(0, wanted)])
      rest = rest.subarray(wanted)
      if (this.header.length < 8) return
      this.channel = this.header[0] ?? 1
      this.left = this.header.readUInt32BE(4)
      this.header = Buffer.alloc(0)
    }
  }
}

/** Passes on everything before a mark, which may arrive in pieces. What follows it is kept in `tail`. */
export class UntilMark {
  private held = Buffer.alloc(0)
  found = false
  tail = ''

  constructor(
    private readonly mark: Buffer,
    private readonly take: (chunk: Buffer) => void,
  ) {}

  feed(chunk: Buffer): void {
    if (this.found) {
      if (this.tail.length < 64) this.tail += chunk.toString('latin1')
      return
    }
    const all = this.held.length > 0 ? Buffer.concat([this.held, chunk]) : chunk
    const at = all.indexOf(this.mark)
    if (at >= 0) {
      this.found = true
      if (at > 0) this.take(all.subarray(0, at))
      this.tail = all
        .subarray(at + this.mark.length)
        .toString('latin1')
        .slice(0, 64)
      return
    }
    const keep = startOfMark(all, this.mark)
    if (keep > 0) this.take(all.subarray(0, keep))
    // A copy, so that a few bytes do not keep a whole large chunk in memory.
    this.held = Buffer.from(all.subarray(keep))
  }

  /** What was held back turned out to be output. */
  end(): void {
    if (!this.found && this.held.length > 0) this.take(this.held)
    this.held = Buffer.alloc(0)
  }
}

/** Where the longest suffix of the data that could begin the mark starts. */
function startOfMark(data: Buffer, mark: Buffer): number {
  for (let at = Math.max(0, data.length - mark.length + 1); at < data.length; at++) {
    if (mark.subarray(0, data.length - at).equals(data.subarray(at))) return at
  }
  return data.length
}
