/** A semaphore: lets a number of callers in at once, in the order they came. */
export interface Gate {
  readonly running: number
  readonly waiting: number
  /** Resolves with how to leave. An aborted signal rejects with its reason. */
  enter(signal: AbortSignal): Promise<() => void>
}

export function makeGate(limit: number): Gate {
  const queue: (() => void)[] = []
  let running = 0
  // A place is handed over, not given up, so that no caller can slip in between.
  const leave = () => {
    const next = queue.shift()
    if (next) next()
    else running--
  }
  return {
    get running() {
      return running
    },
    get waiting() {
      return queue.length
    },
    async enter(signal) {
      signal.throwIfAborted()
      if (running < limit) running++
      else await inLine(queue, signal)
      return leave
    },
  }
}

function inLine(queue: (() => void)[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = () => {
      signal.removeEventListener('abort', stop)
      resolve()
    }
    const stop = () => {
      queue.splice(queue.indexOf(go), 1)
      reject(signal.reason)
    }
    queue.push(go)
    signal.addEventListener('abort', stop, { once: true })
  })
}
