/** Keeps the beginning of a stream. */
export class Capped {
  private readonly chunks: Buffer[] = []
  private kept = 0
  isCut = false

  constructor(private readonly limit: number) {}

  readonly take = (chunk: Buffer): boolean => {
    const part = chunk.subarray(0, this.limit - this.kept)
    this.kept += part.length
    if (part.length > 0) this.chunks.push(part)
    if (part.length < chunk.length) this.isCut = true
    return true
  }

  text(): string {
    return Buffer.concat(this.chunks).toString('utf8')
  }
}
