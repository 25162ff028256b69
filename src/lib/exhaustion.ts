import { sleep } from './deadline.ts'

/** What a machine can temporarily run out of. Disk space is a different matter: see run/exhausted.ts. */
export type Resource = 'file descriptors' | 'processes' | 'memory' | 'pseudo-terminals'

/** This machine has run out of something that every trial needs. It says nothing about the work that was affected. */
export class ExhaustionError extends Error {
  override readonly name = 'ExhaustionError'
  constructor(
    readonly resource: Resource,
    message: string,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause })
  }
}

/** What ran out, if that is the reason for an error; causes are searched too. */
export function exhaustedBy(error: unknown): Resource | null {
  if (error instanceof ExhaustionError) return error.resource
  const own = byCode(error)
  if (own !== null) return own
  return error instanceof Error && error.cause !== undefined ? exhaustedBy(error.cause) : null
}

function byCode(error: unknown): Resource | null {
  if (!(error instanceof Error)) return null
  const code = codeOf(error)
  if (code === 'EMFILE' || code === 'ENFILE') return 'file descriptors'
  if (code === 'ENOMEM') return 'memory'
  // A read or a write that would block has the same code.
  const starts = 'syscall' in error && /^(spawn|fork)/.test(String(error.syscall))
  if (code === 'EAGAIN' && starts) return 'processes'
  const opensTerminal = code === 'ENOSPC' && 'path' in error && error.path === '/dev/ptmx'
  return opensTerminal || /^forkpty\(3\) failed/.test(error.message) ? 'pseudo-terminals' : null
}

/**
 * What ran out, according to the message of a local program that could not start another one. Never use it for output
 * that something inside a sandbox may have written.
 */
export function exhaustionIn(complaint: string): Resource | null {
  if (/Too many open files/i.test(complaint)) return 'file descriptors'
  if (/Cannot allocate memory|Out of memory/i.test(complaint)) return 'memory'
  return /Resource temporarily unavailable|Cannot fork/i.test(complaint) ? 'processes' : null
}

/** The same as the cause of an error that is about to be thrown; empty when the message is about something else. */
export function exhaustionCause(complaint: string): { readonly cause?: ExhaustionError } {
  const resource = exhaustionIn(complaint)
  return resource === null ? {} : { cause: new ExhaustionError(resource, complaint.trim().slice(-300)) }
}

type Listener = (resource: Resource) => void
const listeners = new Set<Listener>()

/** Calls back each time something has run out, even if a short wait helped; returns a function that stops it. */
export function onExhaustion(listener: Listener): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Notifies the listeners. */
export function noteExhaustion(resource: Resource): void {
  for (const listener of [...listeners]) listener(resource)
}

/** About three seconds in total: long enough for a burst to pass, short enough for a trial to release its slot soon. */
const waitsMs = [50, 100, 200, 400, 800, 1600]

/** After waiting in vain, waits are short for this long: the resource is held permanently, or by those who wait. */
const vainMs = 10_000
let lastInVain = Number.NEGATIVE_INFINITY

/** Retries work a few times, with waits in between, as long as it fails only because something ran out. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  const waits = performance.now() - lastInVain < vainMs ? waitsMs.slice(0, 3) : waitsMs
  for (const waitMs of [...waits, null]) {
    try {
      return await work()
    } catch (error) {
      const resource = exhaustedBy(error)
      if (resource === null) throw error
      noteExhaustion(resource)
      if (waitMs === null) {
        lastInVain = performance.now()
        throw error
      }
      await sleep(waitMs)
    }
  }
  throw new Error('unreachable')
}

/** True when an error says that a file or directory does not exist. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR'
}

/** The errno name of a system error, or undefined. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
