import { writeSync } from 'node:fs'
import type { IPty } from '@lydell/node-pty'
import { codeOf } from '../../lib/files.ts'

const shortestPauseMs = 2
const longestPauseMs = 50

/**
 * Writes to a pseudo-terminal without ever waiting for its program to read: a full terminal takes the rest later.
 * The library's own write blocks the whole process then, and for ever where the program in turn waits for us to read its echo.
 */
class PtyInput {
  private queue: Buffer[] = []
  private timer: NodeJS.Timeout | null = null
  private pauseMs = shortestPauseMs
  private isOpen = true

  constructor(private readonly fd: number) {}

  write(data: string | Uint8Array): void {
    if (!this.isOpen || data.length === 0) return
    this.queue.push(Buffer.from(data))
    if (this.timer === null) this.flush()
  }

  /** Must be called before the descriptor may belong to another file. */
  close(): void {
    this.isOpen = false
    this.queue = []
    if (this.timer) clearTimeout(this.timer)
  }

  private flush(): void {
    this.timer = null
    for (let head = this.queue[0]; head; head = this.queue[0]) {
      const count = this.tryWrite(head)
      if (count === 0) {
        this.later()
        return
      }
      this.pauseMs = shortestPauseMs
      if (count < head.length) this.queue[0] = head.subarray(count)
      else this.queue.shift()
    }
  }

  private later(): void {
    if (!this.isOpen) return
    this.timer = setTimeout(() => this.flush(), this.pauseMs)
    this.pauseMs = Math.min(longestPauseMs, this.pauseMs * 2)
  }

  private tryWrite(data: Buffer): number {
    try {
      return writeSync(this.fd, data)
    } catch (error) {
      // Anything but a full terminal means that it is gone; its end is reported elsewhere.
      if (codeOf(error) !== 'EAGAIN') this.close()
      return 0
    }
  }
}

/** The descriptor of a pseudo-terminal, and word of when it is closed: both are there on Linux, but not in the library's types. */
export function makePtyInput(pty: IPty): { write(data: string | Uint8Array): void; close(): void } {
  if (!('fd' in pty) || typeof pty.fd !== 'number' || !('on' in pty) || typeof pty.on !== 'function') {
    return { write: (data) => pty.write(Buffer.from(data).toString('utf8')), close: () => {} }
  }
  const input = new PtyInput(pty.fd)
  pty.on('close', () => input.close())
  return input
}
