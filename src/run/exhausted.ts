import { BoundaryError, messageOf, UserError } from '../core/errors.ts'
import type { TrialEnd } from '../core/trial.ts'
import { exhaustedBy, noteExhaustion, type Resource } from '../lib/exhaustion.ts'

/** The code of a trial that failed because this machine ran out of something; it is tried again with fewer at once. */
const exhaustedCode = 'MachineExhaustedError'

/** Whether a trial ended so. */
export function isExhausted(end: TrialEnd): boolean {
  return end.kind === 'failed' && end.failure.code === exhaustedCode
}

/** The failure of a trial that met it, wherever it met it: no task, agent, model or verifier is to blame. Null for any other error. */
export function exhaustedFailure(error: unknown): BoundaryError | null {
  if (error instanceof BoundaryError && error.code === exhaustedCode) return error
  const resource = exhaustedBy(error)
  if (resource === null) return null
  noteExhaustion(resource)
  return ranOut(resource, messageOf(error), error)
}

/** A trial's way to say so. */
export function ranOut(resource: Resource, what: string, cause?: unknown): BoundaryError {
  const message = `this machine ran out of ${resource}: ${what}`
  return new BoundaryError('sandbox', message, { code: exhaustedCode, retryable: true, cause })
}

/** A job's way to say so, where it cannot even write its records. */
export function exhaustedError(resource: Resource, jobDir: string): UserError {
  return new UserError(
    `expected to write to ${jobDir}, but this machine has run out of ${resource}; the job stopped`,
    'end other programs or run fewer trials at once (-n), then run the same command again: finished trials are kept',
    3,
  )
}
