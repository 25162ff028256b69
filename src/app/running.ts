/**
 * Work in progress. Iterate over it for its progress; await it for its result. Events are kept from the moment
 * iteration starts. Leaving the loop early does not stop the work; a signal does.
 */
export class Running<Event, Result> implements PromiseLike<Result>, AsyncIterable<Event> {
  readonly #result: Promise<Result>
  readonly #listeners = new Set<(event: Event) => void>()

  constructor(work: (emit: (event: Event) => void) => Promise<Result>) {
    const emit = (event: Event) => {
      for (const listener of this.#listeners) listener(event)
    }
    // Start later, so that the caller can begin iterating before the first event.
    this.#result = Promise.resolve().then(() => work(emit))
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting the work is awaiting its result.
  then<A = Result, B = never>(
    onResult?: ((result: Result) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#result.then(onResult, onError)
  }

  [Symbol.asyncIterator](): AsyncIterator<Event, void> {
    let waiting: Event[] = []
    let taken = 0
    let wake = () => {}
    let ended = false
    const listener = (event: Event) => {
      waiting.push(event)
      wake()
    }
    this.#listeners.add(listener)
    const end = () => {
      ended = true
      this.#listeners.delete(listener)
      wake()
    }
    this.#result.then(end, end)
    const next = async (): Promise<IteratorResult<Event, void>> => {
      while (waiting.length === taken && !ended) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      const event = waiting[taken]
      if (event !== undefined) {
        taken++
        // Drop taken events in bulk: shifting the queue for each event would take hours with a slow reader and a long
        // queue.
        if (taken >= 1000) [waiting, taken] = [waiting.slice(taken), 0]
        return { value: event, done: false }
      }
      await this.#result
      return { value: undefined, done: true }
    }
    const leave = async (): Promise<IteratorResult<Event, void>> => {
      end()
      return { value: undefined, done: true }
    }
    return { next, return: leave }
  }
}
