/** Runs work, at most so much at once, in the order it came. */
export type Queue = <T>(work: () => Promise<T>) => Promise<T>

/** Rows come many at a time, and each would start sandboxes of its own. */
export function makeQueue(width: number): Queue {
  let running = 0
  const waiting: (() => void)[] = []
  return async (work) => {
    if (running >= width) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
