import { messageOf, UserError } from '../../core/errors.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'

/** `limited`: there, but not all of it, or not without a word from you. */
export type State = 'ok' | 'limited' | 'missing'

export interface Found {
  readonly state: State
  /** What was found, in a few words; never a secret. */
  readonly what: string
  /** What to do about it, in one line; null when there is nothing to do. */
  readonly cure: string | null
}

/** What checks may look at. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stateDir: string
  /** A model server to try, if one was named. */
  readonly apiBase: string | null
  readonly signal: AbortSignal
}

/** One thing this machine or account may have. Its name is what `--require` takes. */
export interface Check {
  readonly name: string
  look(at: Surroundings): Promise<Found>
}

export interface Finding extends Found {
  readonly name: string
}

/** No single look may hold up the others longer. */
const lookSec = 20

/** Looks, within bounds; what is thrown is what was found. */
export async function runCheck(check: Check, at: Surroundings): Promise<Finding> {
  const { name } = check
  try {
    const found = await withDeadline(lookSec, at.signal, (signal) => check.look({ ...at, signal }))
    if (found !== expired) return { name, ...found }
    return { name, ...missing(`did not answer within ${lookSec} s`, 'check that it is running, and try again') }
  } catch (error) {
    if (at.signal.aborted) throw error
    const cure = error instanceof UserError ? error.hint : 'see the documentation of the part that failed'
    // The name stands beside it already.
    const message = messageOf(error).replace(`${name.replace('/', ' ')}: `, '')
    return { name, ...missing(message, cure) }
  }
}

export function ok(what: string): Found {
  return { state: 'ok', what, cure: null }
}

export function limited(what: string, cure: string): Found {
  return { state: 'limited', what, cure }
}

export function missing(what: string, cure: string): Found {
  return { state: 'missing', what, cure }
}
