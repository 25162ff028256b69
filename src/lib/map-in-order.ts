/**
 * Works on up to `width` items at once and gives the results in the items' order. When something throws, it waits for
 * the work in progress before passing the error on, so nothing runs behind the caller's back.
 */
export async function* mapInOrder<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  width: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void, void> {
  const running: Promise<R>[] = []
  try {
    for await (const item of items) {
      const result = work(item)
      // Handled when its turn comes; until then a rejection must not count as unhandled.
      result.catch(() => {})
      running.push(result)
      if (running.length < width) continue
      const oldest = running.shift()
      if (oldest) yield await oldest
    }
    for (let next = running.shift(); next; next = running.shift()) yield await next
  } finally {
    await Promise.allSettled(running)
  }
}
