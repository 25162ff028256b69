import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Blame, type Boundary, BoundaryError, blame, isAbort, messageOf, UserError } from '../../core/errors.ts'
import type { SandboxLease } from '../../core/sandbox.ts'
import type { Failure, TrialEnd } from '../../core/trial.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { utcNow } from '../../lib/time.ts'
import { diskFullCode, diskFullFailure, exhaustedFailure, isDiskFull, isOverQuota } from '../exhausted.ts'
import type { TrialContext } from './context.ts'

/**
 * `blame` for a phase of a trial: wrong input found this late, and an abort that was not requested, also count as
 * failures of that phase. Only the trial's own abort passes unblamed.
 */
export async function atBoundary<T>(
  boundary: Boundary,
  signal: AbortSignal,
  work: () => Promise<T>,
  details: Blame = {},
): Promise<T> {
  try {
    return await blame(boundary, work, details)
  } catch (error) {
    if (signal.aborted) throw error
    const exhausted = exhaustedFailure(error)
    if (exhausted) throw exhausted
    if (error instanceof BoundaryError) throw error
    const retryable = !(error instanceof UserError)
    const text = error instanceof UserError ? `${error.message} (${error.hint})` : messageOf(error)
    throw new BoundaryError(boundary, text, { retryable, ...details, cause: error })
  }
}

/** A scheduler that cancels a job signals its sandboxes too, and they may be gone before we receive the signal. */
const graceMs = 500

/** Waits for an abort, but not for long. */
async function untilAborted(signal: AbortSignal, mostMs: number): Promise<void> {
  await sleep(mostMs, undefined, { signal }).catch(() => {})
}

/**
 * Runs a trial to its single ending. An error that is neither a boundary's failure nor an abort is our bug and is
 * rethrown.
 */
export async function settle(signal: AbortSignal, attempt: () => Promise<TrialEnd>): Promise<TrialEnd> {
  try {
    return await attempt()
  } catch (error) {
    if (error instanceof BoundaryError && error.code === 'SandboxGoneError') await untilAborted(signal, graceMs)
    if (signal.aborted) return { kind: 'cancelled' }
    return { kind: 'failed', failure: failureOf(error) }
  }
}

/** A boundary's error as data. */
export function failureOf(thrown: unknown): Failure {
  const error = exhaustedFailure(thrown) ?? thrown
  if (!(error instanceof BoundaryError)) throw error
  const { boundary, code, message, retryable } = error
  const told = isOverQuota(error) ? diskFullCode : code
  return { boundary, code: told, message, retryable, stack: stackOf(error), occurredAt: utcNow() }
}

/**
 * Runs work whose failure must not change how the trial ends: it is only logged. Machine-wide failures still count: a
 * full disk, too few file descriptors.
 */
export async function bestEffort(
  what: string,
  limitSec: number,
  at: { readonly signal: AbortSignal; readonly log: (line: string) => void },
  work: (signal: AbortSignal) => Promise<void>,
): Promise<boolean> {
  try {
    const outcome = await withDeadline(limitSec, at.signal, work)
    if (outcome !== expired) return true
    at.log(`${what}: gave up after ${limitSec} s`)
  } catch (error) {
    if (at.signal.aborted) throw error
    if (isDiskFull(error)) throw diskFullFailure(what, error)
    const exhausted = exhaustedFailure(error)
    if (exhausted) throw exhausted
    at.log(`${what}: ${isAbort(error) ? 'interrupted' : messageOf(error)}`)
  }
  return false
}

/** A signal for work that even a cancelled trial must finish. */
export function neverAborted(): AbortSignal {
  return new AbortController().signal
}

/** An error's message, and where in other people's code it was thrown; our own frames matter only for our bugs. */
function stackOf(error: Error): string {
  const { cause } = error
  const title = error instanceof BoundaryError ? error.code : error.name
  const frames = (error.stack ?? '').split('\n').filter((line) => /^ +at /.test(line))
  const others = frames.filter((line) => line.includes('/') && !notOthers.some((place) => line.includes(place)))
  const shown = others.length === 0 && isBug(error) ? frames : others
  const own = [`${title}: ${error.message}`, ...shown].join('\n')
  if (!(cause instanceof Error)) return own
  const below = stackOf(cause)
  // A wrapper that repeats the message adds nothing.
  return below.endsWith(`: ${error.message}`) ? own : `${own}\nCaused by: ${below}`
}

/** Where our code is: the sources, or what was built from them. */
const [here = import.meta.url] = /^.*\/(?:src|dist)\//.exec(import.meta.url) ?? []
const notOthers = [here, fileURLToPath(here), '/node_modules/', 'node:internal']

/** Errors thrown by the language itself, never by our checks; Node's errors carry a code or a cause. */
function isBug(error: Error): boolean {
  const isPlain = error.cause === undefined && !('code' in error)
  return isPlain && (error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError)
}

/** Whether a sandbox is known to be gone; one that merely does not answer is not. */
export async function isGone(context: TrialContext, lease: SandboxLease): Promise<boolean> {
  let alive = true
  await bestEffort('check that the sandbox is alive', 10, context, async () => {
    alive = await lease.alive()
  })
  return !alive
}

/** A vanished sandbox takes the blame for everything that failed in it. */
export function sandboxGone(when: string, cause?: unknown): BoundaryError {
  return new BoundaryError('sandbox', `the sandbox died ${when}`, { code: 'SandboxGoneError', cause })
}

interface Running {
  readonly trial: string
  readonly log: (line: string) => void
}

const running = new AsyncLocalStorage<Running>()

/** Runs a trial so that an error thrown later, for example by a timer its agent left behind, can be traced to it. */
export function asTrial<T>(trial: string, log: (line: string) => void, work: () => Promise<T>): Promise<T> {
  return running.run({ trial, log }, work)
}

/**
 * The trial an uncaught error came from, after writing the error to that trial's log; null when it came from none. Call
 * it where the error surfaces.
 */
export function blameTrial(error: unknown): { readonly trial: string; readonly message: string } | null {
  const from = running.getStore()
  if (from === undefined) return null
  const message = messageOf(error)
  from.log(`error in background code: ${message}`)
  return { trial: from.trial, message }
}

/** How many seconds releasing a sandbox may take before it is left to `ot-agent clean`. */
export const releaseSec = 20

/** Where to log errors, and how long to wait. */
interface ReleaseOptions {
  readonly log: (line: string) => void
  readonly releaseSec: number
}

/** Releases a sandbox. If that fails or hangs, it is logged and left to `ot-agent clean`; nothing else changes. */
export async function releaseSandbox(lease: SandboxLease, { log, releaseSec }: ReleaseOptions): Promise<void> {
  try {
    const outcome = await withDeadline(releaseSec, neverAborted(), () => Promise.resolve(lease[Symbol.asyncDispose]()))
    if (outcome === expired)
      log(`sandbox ${lease.id} was not released within ${releaseSec} s; ot-agent clean removes it`)
  } catch (error) {
    log(`sandbox ${lease.id} could not be released: ${messageOf(error)}; ot-agent clean removes it`)
  }
}

/** Waits a while for a lease that is no longer wanted; one that arrives later is released on arrival. */
export async function releaseLate(pending: Promise<SandboxLease>, patience: ReleaseOptions): Promise<void> {
  const { log, releaseSec } = patience
  const returned = pending.then(
    (lease) => releaseSandbox(lease, patience),
    () => {},
  )
  const outcome = await withDeadline(releaseSec, neverAborted(), () => returned)
  if (outcome === expired)
    log('a sandbox that took too long to start still has not answered; ot-agent clean removes it')
}
