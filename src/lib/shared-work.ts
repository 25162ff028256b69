/**
 * Does work once that several callers may want at the same time; it is aborted only when every one of them has left.
 */
export class SharedWork<T> {
  private readonly running = new Map<string, Running<T>>()

  /** Joins the work under `key`, or starts it. The last caller to leave waits until the work has cleaned up. */
  async run(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    const running = this.running.get(key) ?? this.start(key, work)
    running.callers++
    let leave: (() => void) | undefined
    const left = new Promise<'left'>((resolve) => {
      leave = () => resolve('left')
      signal.addEventListener('abort', leave, { once: true })
    })
    try {
      const outcome = await Promise.race([running.result.then((value) => ({ value })), left])
      if (outcome !== 'left') return outcome.value
    } finally {
      if (leave) signal.removeEventListener('abort', leave)
      running.callers--
    }
    if (running.callers === 0) await this.end(key, running)
    throw signal.reason
  }

  private start(key: string, work: (signal: AbortSignal) => Promise<T>): Running<T> {
    const controller = new AbortController()
    const result = work(controller.signal)
    const running = { controller, result, callers: 0 }
    this.running.set(key, running)
    const forget = () => this.forget(key, running)
    result.then(forget, forget)
    return running
  }

  private async end(key: string, running: Running<T>): Promise<void> {
    // Removed at once: a new caller must not join work that is being discarded.
    this.forget(key, running)
    running.controller.abort()
    await running.result.catch(() => {})
  }

  private forget(key: string, running: Running<T>): void {
    if (this.running.get(key) === running) this.running.delete(key)
  }
}

interface Running<T> {
  readonly controller: AbortController
  readonly result: Promise<T>
  callers: number
}

/** Work that is done on the first call and shared by all; if it fails, the next call tries again. */
export function lazily<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => {
    result ??= work().catch((error: unknown) => {
      result = undefined
      throw error
    })
    return result
  }
}
