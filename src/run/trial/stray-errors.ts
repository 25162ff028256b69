import { AsyncLocalStorage } from 'node:async_hooks'
import { messageOf } from '../../core/errors.ts'

interface Running {
  readonly trial: string
  readonly log: (line: string) => void
}

const running = new AsyncLocalStorage<Running>()

/** Runs a trial so that an error thrown later, by a timer its agent left for example, is known to be of this trial. */
export function asTrial<T>(trial: string, log: (line: string) => void, work: () => Promise<T>): Promise<T> {
  return running.run({ trial, log }, work)
}

/** Which trial an uncaught error came from, after writing it to that trial's log; null when it came from none. Call it where the error surfaces. */
export function blameTrial(error: unknown): { readonly trial: string; readonly message: string } | null {
  const from = running.getStore()
  if (from === undefined) return null
  const message = messageOf(error)
  from.log(`an error outside of any call: ${message}`)
  return { trial: from.trial, message }
}
