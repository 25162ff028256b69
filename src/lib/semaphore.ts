import { setMaxListeners } from 'node:events'

/**
 * Lets a limited number of callers in at once, first come, first served. A caller aborted while waiting takes no place.
 */
export class Semaphore {
  private limit: number
  private inside = 0
  private readonly queue = new Set<() => void>()

  constructor(limit: number) {
    this.limit = limit
  }

  get running(): number {
    return this.inside
  }

  get waiting(): number {
    return this.queue.size
  }

  /** Waits for a place and returns the function that releases it; rejects with the signal's reason when aborted first. */
  async acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.inside < this.limit) this.inside++
    else await this.wait(signal)
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.inside--
      this.admit()
    }
  }

  /** Does the work while holding a place. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(signal)
    try {
      return await work()
    } finally {
      release()
    }
  }

  /** Changes the limit. Callers that are inside stay; with a lower limit, the next one enters once enough have left. */
  resize(limit: number): void {
    this.limit = limit
    this.admit()
  }

  private wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (then: () => void) => () => {
        this.queue.delete(enter)
        signal.removeEventListener('abort', leave)
        then()
      }
      const enter = settle(resolve)
      const leave = settle(() => reject(signal.reason))
      this.queue.add(enter)
      // Node treats many listeners on one signal as a leak; here they are just a long queue.
      setMaxListeners(0, signal)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  private admit(): void {
    for (const enter of this.queue) {
      if (this.inside >= this.limit) return
      // Counted here, before the caller continues, so that no later caller takes its place.
      this.inside++
      enter()
    }
  }
}
