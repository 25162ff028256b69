import { statfsSync } from 'node:fs'
import type { ExecResult, StorageWatch } from '../../core/sandbox.ts'

export interface StorageOptions {
  readonly limitMb: number
  /** A directory on the disk in question. */
  readonly home: string
  /** The bytes in use now; null if unknown. */
  readonly measure: () => Promise<number | null>
  /** Kills what runs inside. */
  readonly stop: () => Promise<void>
}

const tickMs = 1000
/**
 * The fastest a sandbox is expected to write: one with more space left than it could fill by now is not checked yet.
 */
const bytesPerSec = 500e6
const longestWaitMs = 30_000
/** Measuring takes at most one part in this many of the time. */
const restFactor = 10
/**
 * The least space left after a freeze, capped at a quarter of the limit: tests must be able to run even if an agent
 * used up everything.
 */
const roomAfterFreeze = 2 ** 30

/**
 * Holds a sandbox to its disk space. The kernel cannot limit a single tree of files, so it is measured from time to
 * time: the less is left, the sooner, and at once when the free space of the whole disk has fallen by more than what is
 * left.
 */
export class Storage implements StorageWatch {
  private controller = new AbortController()
  private allowedBytes: number
  private takenBytes = 0
  private freeBytes = 0
  private lookedMs = 0
  private tookMs = 0
  private looking: Promise<void> | null = null

  constructor(private readonly options: StorageOptions) {
    this.allowedBytes = options.limitMb * 2 ** 20
  }

  get full(): AbortSignal {
    return this.controller.signal
  }

  /** Why commands are stopped and none starts; null while there is room. */
  get message(): string | null {
    return this.full.aborted ? String((this.full.reason as Error).message) : null
  }

  /** Checks it from time to time from now on, until `unwatch`. */
  watch(): void {
    this.lookedMs = performance.now()
    this.freeBytes = freeBytesOf(this.options.home)
    watched.add(this)
    timer ??= setInterval(tick, tickMs).unref()
  }

  unwatch(): void {
    watched.delete(this)
    if (watched.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  async check(): Promise<void> {
    if (this.isDue(performance.now(), freeBytesOf(this.options.home))) await this.look()
  }

  /** Measures, and stops programs that took too much. */
  look(): Promise<void> {
    this.looking ??= this.lookOnce().finally(() => {
      this.looking = null
    })
    return this.looking
  }

  /** After a freeze: commands may run again, with some room even if none was left. */
  async renew(): Promise<void> {
    const { limitMb } = this.options
    const limitBytes = limitMb * 2 ** 20
    if (this.full.aborted) {
      this.takenBytes = (await this.options.measure()) ?? this.takenBytes
      this.controller = new AbortController()
    }
    this.allowedBytes = Math.max(limitBytes, this.takenBytes + Math.min(limitBytes / 4, roomAfterFreeze))
  }

  isDue(nowMs: number, freeBytes: number): boolean {
    const sinceMs = nowMs - this.lookedMs
    const leftBytes = this.allowedBytes - this.takenBytes
    if (this.full.aborted || this.freeBytes - freeBytes >= leftBytes) return sinceMs >= this.tookMs
    const waitMs = Math.min((leftBytes / bytesPerSec) * 1000, longestWaitMs)
    return sinceMs >= Math.max(waitMs, this.tookMs * restFactor)
  }

  get home(): string {
    return this.options.home
  }

  private async lookOnce(): Promise<void> {
    const { home, measure, stop, limitMb } = this.options
    const startMs = performance.now()
    this.freeBytes = freeBytesOf(home)
    // A program that starts just as the others are stopped is caught by a later check.
    const taken = this.full.aborted ? null : await measure()
    this.takenBytes = taken ?? this.takenBytes
    this.lookedMs = performance.now()
    this.tookMs = this.lookedMs - startMs
    if (!this.full.aborted && this.takenBytes > this.allowedBytes) {
      const takenMb = Math.ceil(this.takenBytes / 2 ** 20)
      const message = `its programs used ${takenMb} MB of disk, but storage_mb = ${limitMb}`
      this.controller.abort(new DOMException(message, 'AbortError'))
    }
    if (this.full.aborted) await stop()
  }
}

const watched = new Set<Storage>()
let timer: NodeJS.Timeout | undefined

/** One timer for all sandboxes of this process. */
function tick(): void {
  const free = new Map<string, number>()
  const now = performance.now()
  for (const storage of watched) {
    const { home } = storage
    if (!free.has(home)) free.set(home, freeBytesOf(home))
    // Temporary failures are retried later.
    if (storage.isDue(now, free.get(home) ?? 0)) storage.look().catch(() => {})
  }
}

function freeBytesOf(dir: string): number {
  try {
    const { bfree, bsize } = statfsSync(dir)
    return bfree * bsize
  } catch {
    return 0
  }
}

/** The result of a command that was killed before it could start. */
export function noRoom(why: string): ExecResult {
  return {
    exitCode: 137,
    stdout: '',
    stderr: `ot-agent stopped this command: ${why}\n`,
    timedOut: false,
    truncated: false,
  }
}
