import { BoundaryError } from '../../core/errors.ts'
import { Semaphore } from '../../lib/semaphore.ts'

/** Hands out trials once everything they need is prepared. */
export interface ReadyTrials<Trial> {
  /** Waits until a trial can start; false when none is left or the signal was aborted. */
  any(): Promise<boolean>
  /** Takes the first trial that can start; call it only right after `any` returned true. */
  shift(): ReadyTrial<Trial>
  /** Trials that can start and have not been taken yet, in order. */
  ready(): readonly Trial[]
  /** Resolves when no preparation is running. */
  settled(): Promise<void>
}

/** A trial whose preparation is over; `failure` is the error, for the trial itself to report. */
export interface ReadyTrial<Trial> {
  readonly trial: Trial
  readonly failure: Error | null
}

export interface ReadyTrialsOptions<Trial> {
  /** How many trials to look ahead. */
  readonly window: number
  /** How many preparations run at once. */
  readonly atOnce: number
  /**
   * Finds what must be prepared for a trial: null for nothing. Work with the same key is done once for all of them;
   * failed work is repeated for later ones, unless its error says that this is pointless.
   */
  readonly find: (trial: Trial) => Promise<Preparation | null>
  readonly signal: AbortSignal
}

export interface Preparation {
  readonly key: string
  readonly prepare: (signal: AbortSignal) => Promise<void>
}

interface Waiting<Trial> {
  readonly trial: Trial
  state: 'looking' | 'preparing' | 'ready'
  failure: Error | null
}

/**
 * Looks a few trials ahead and prepares them in a separate queue, so that no trial occupies a running slot while its
 * image is built. Trials keep their order, except that later ones overtake one still in preparation.
 */
export function makeReadyTrials<Trial>(
  trials: readonly Trial[],
  { window, atOnce, find, signal }: ReadyTrialsOptions<Trial>,
): ReadyTrials<Trial> {
  const rest = trials.values()
  const waiting: Waiting<Trial>[] = []
  const running = new Set<Promise<void>>()
  const work = makeWork(atOnce, signal)
  let wake = () => {}
  const makeReady = async (entry: Waiting<Trial>) => {
    try {
      const needed = await find(entry.trial)
      if (needed === null || work.isDone(needed.key)) return
      entry.state = 'preparing'
      wake()
      await work.run(needed)
    } catch (error) {
      entry.failure = error instanceof Error ? error : new Error(String(error))
    } finally {
      entry.state = 'ready'
      wake()
    }
  }
  const lookAhead = () => {
    while (waiting.length < window) {
      const next = rest.next()
      if (next.done) return
      const entry: Waiting<Trial> = { trial: next.value, state: 'looking', failure: null }
      waiting.push(entry)
      const readying = makeReady(entry).finally(() => running.delete(readying))
      running.add(readying)
    }
  }
  const first = () => {
    const ahead = waiting.find(({ state }) => state !== 'preparing')
    return ahead?.state === 'ready' ? ahead : undefined
  }
  signal.addEventListener('abort', () => wake(), { once: true })
  return {
    any: async () => {
      lookAhead()
      while (waiting.length > 0 && !signal.aborted) {
        if (first()) return true
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return false
    },
    shift: () => {
      const next = first()
      if (!next) throw new Error('shift before any() said that a trial is ready')
      waiting.splice(waiting.indexOf(next), 1)
      lookAhead()
      return { trial: next.trial, failure: next.failure }
    },
    ready: () => waiting.filter(({ state }) => state === 'ready').map(({ trial }) => trial),
    settled: async () => void (await Promise.all(running)),
  }
}

/** Preparations by their key, with limited concurrency. */
function makeWork(atOnce: number, signal: AbortSignal) {
  const places = new Semaphore(atOnce)
  const started = new Map<string, Promise<void>>()
  const done = new Set<string>()
  const inQueue = async ({ key, prepare }: Preparation) => {
    const release = await places.acquire(signal)
    try {
      await prepare(signal)
      done.add(key)
    } catch (error) {
      if (!(error instanceof BoundaryError) || error.retryable) started.delete(key)
      throw error
    } finally {
      release()
    }
  }
  return {
    isDone: (key: string) => done.has(key),
    run: (needed: Preparation): Promise<void> => {
      const running = started.get(needed.key) ?? inQueue(needed)
      started.set(needed.key, running)
      return running
    },
  }
}
