import { statfsSync } from 'node:fs'
import type { ExecResult, StorageWatch } from '../../core/sandbox.ts'

export interface StorageOptions {
  readonly limitMb: number
  /** A directory on the disk that is written to. */
  readonly home: string
  /** The bytes taken now; null where that cannot be told. */
  readonly measure: () => Promise<number | null>
  /** Kills what runs inside. */
  readonly stop: () => Promise<void>
}

const tickMs = 1000
/** How fast a sandbox is expected to write at most: one that has this many bytes left per second is not looked at yet. */
const bytesPerSec = 500e6
const longestWaitMs = 30_000
/** Measuring takes at most one part in this many of the time. */
const restFactor = 10
/** What is left at least after a freeze, and at most a quarter of the limit: tests must be able to run where an agent took everything. */
const roomAfterFreeze = 2 ** 30

/**
 * Holds a sandbox to its disk space. The kernel sets no limit for one tree of files, so it is measured from time to time: the
 * less is left, the sooner, and at once when the free space of the whole disk fell by more than what is left.
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

  /** From now on it is looked at from time to time, until `unwatch`. */
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

  /** After a freeze: commands may run again, with some room even where nothing was left. */
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
    // What starts in the moment of the first stop is met by a later one.
    const taken = this.full.aborted ? null : await measure()
    this.takenBytes = taken ?? this.takenBytes
    this.lookedMs = performance.now()
    this.tookMs = this.lookedMs - startMs
    if (!this.full.aborted && this.takenBytes > this.allowedBytes) {
      const takenMb = Math.ceil(this.takenBytes / 2 ** 20)
      const message = `its programs took ${takenMb} MB of disk, and storage_mb = ${limitMb}`
      this.controller.abort(new DOMException(message, 'AbortError'))
    }
    if (this.full.aborted) await stop()
  }
}

const watched = new Set<Storage>()
let timer: NodeJS.Timeout | undefined

/** One for all sandboxes of this process. */
function tick(): void {
  const free = new Map<string, number>()
  const now = performance.now()
  for (const storage of watched) {
    const { home } = storage
    if (!free.has(home)) free.set(home, freeBytesOf(home))
    // What fails for the moment is tried again later.
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

/** As a command that was killed, before it could start. */
export function noRoom(why: string): ExecResult {
  return {
    exitCode: 137,
    stdout: '',
    stderr: `ot-agent stopped this command: ${why}\n`,
    timedOut: false,
    truncated: false,
  }
}
