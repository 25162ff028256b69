import { type FileHandle, open } from 'node:fs/promises'

const flushMs = 100
const flushChars = 65_536

/**
 * A file that grows as things happen, up to a size limit. Text is in the file a moment after it is written, so little
 * is lost if the process dies. A write error is kept in `problem`: recording is no reason to stop what is being
 * recorded.
 */
export class AppendLog {
  problem: Error | null = null
  private pending: string[] = []
  private pendingChars = 0
  private writtenBytes = 0
  /** Full, broken or closed. */
  private takesNoMore = false
  private timer: NodeJS.Timeout | null = null
  private file: FileHandle | null = null
  private last: Promise<void> = Promise.resolve()

  constructor(
    private readonly path: string,
    private readonly limits: {
      readonly bytes: number
      /** Written once in place of the rest. */
      readonly notice: string
    },
  ) {}

  append(text: string): void {
    if (this.takesNoMore) return
    this.takesNoMore = this.writtenBytes + Buffer.byteLength(text) > this.limits.bytes
    const piece = this.takesNoMore ? this.limits.notice : text
    this.writtenBytes += Buffer.byteLength(piece)
    this.pending.push(piece)
    this.pendingChars += piece.length
    if (this.pendingChars >= flushChars) this.flush()
    else this.timer ??= setTimeout(() => this.flush(), flushMs)
  }

  async close(): Promise<void> {
    this.takesNoMore = true
    this.flush()
    await this.last
    await this.file?.close()
    this.file = null
  }

  private flush(): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
    if (this.pending.length === 0) return
    const text = this.pending.join('')
    this.pending = []
    this.pendingChars = 0
    this.last = this.last.then(() => this.write(text))
  }

  private async write(text: string): Promise<void> {
    if (this.problem) return
    try {
      this.file ??= await open(this.path, 'a', 0o644)
      await this.file.appendFile(text)
    } catch (error) {
      this.problem = error instanceof Error ? error : new Error(String(error))
      this.takesNoMore = true
    }
  }
}
