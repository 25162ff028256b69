import { messageOf, UserError } from '../../core/errors.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'

/** `limited`: only partly available, or only once you allow it. */
export type State = 'ok' | 'limited' | 'missing'

export interface Found {
  readonly state: State
  /** What was found, briefly; never a secret. */
  readonly what: string
  /** How to fix it, in one line; null if there is nothing to fix. */
  readonly cure: string | null
}

/** What checks may inspect. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stateDir: string
  /** A model server to try, if one is given. */
  readonly apiBase: string | null
  readonly signal: AbortSignal
}

/** One capability of this machine or account. `--require` takes its name. */
export interface Check {
  readonly name: string
  look(at: Surroundings): Promise<Found>
}

export interface Finding extends Found {
  readonly name: string
}

/** Time limit of one check, so that it cannot hold up the others. */
const lookSec = 20

/** Runs a check within its time limit; an error becomes its finding. */
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
