/** A fixed number of places; whoever asks first gets the next free one. */
export interface Slots {
  /** Waits for a place and returns how to leave it; rejects with the signal's reason when aborted first. */
  take(signal: AbortSignal): Promise<() => void>
}

export function makeSlots(count: number): Slots {
  let free = count
  const waiting = new Set<() => void>()
  const leave = () => {
    const [next] = waiting
    if (next) next()
    else free++
  }
  const once = () => {
    let left = false
    return () => {
      if (!left) leave()
      left = true
    }
  }
  const take = async (signal: AbortSignal) => {
    signal.throwIfAborted()
    if (free > 0) {
      free--
      return once()
    }
    await new Promise<void>((resolve, reject) => {
      const settle = (then: () => void) => () => {
        waiting.delete(enter)
        signal.removeEventListener('abort', stop)
        then()
      }
      const enter = settle(resolve)
      const stop = settle(() => reject(signal.reason))
      waiting.add(enter)
      signal.addEventListener('abort', stop, { once: true })
    })
    return once()
  }
  return { take }
}
