/** A semaphore with a number of places, first come, first served. */
export interface Slots {
  /** Waits for a place and returns how to leave it; rejects with the signal's reason when aborted first. */
  take(signal: AbortSignal): Promise<() => void>
  /** Changes how many places there are. No holder is evicted: when there are fewer, places are not given again until enough were left. */
  resize(count: number): void
}

export function makeSlots(count: number): Slots {
  let places = count
  let taken = 0
  const waiting = new Set<() => void>()
  const letIn = () => {
    for (const enter of waiting) {
      if (taken >= places) return
      taken++
      enter()
    }
  }
  const once = () => {
    let left = false
    return () => {
      if (left) return
      left = true
      taken--
      letIn()
    }
  }
  const take = async (signal: AbortSignal) => {
    signal.throwIfAborted()
    if (taken < places) {
      taken++
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
  const resize = (wanted: number) => {
    places = wanted
    letIn()
  }
  return { take, resize }
}
