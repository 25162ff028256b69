import { BoundaryError, messageOf, UserError } from '../core/errors.ts'
import type { SandboxProvider } from '../core/sandbox.ts'
import type { TrialEnd } from '../core/trial.ts'
import { statfs } from '../lib/disk.ts'
import { exhaustedBy, noteExhaustion, onExhaustion, type Resource } from '../lib/exhaustion.ts'
import { codeOf } from '../lib/files.ts'
import { refusedForks } from '../lib/machine-limits.ts'

/** The code of a trial that failed because this machine had no disk space for its files; it stops the job. */
export const diskFullCode = 'DiskFullError'

/** Whether something failed because a disk of this machine is full. */
export function isDiskFull(error: unknown): boolean {
  const full = codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT'
  return full || (error instanceof Error && error.cause !== undefined && isDiskFull(error.cause))
}

/** Whether one of our writes hit a quota; nothing can tell how much of a quota is left. */
export function isOverQuota(error: unknown): boolean {
  return codeOf(error) === 'EDQUOT' || (error instanceof Error && error.cause !== undefined && isOverQuota(error.cause))
}

/** The failure of a trial when the disk is full. */
export function diskFullFailure(what: string, cause: unknown): BoundaryError {
  return new BoundaryError('store', `${what}: no space left on this machine`, { code: diskFullCode, cause })
}

/** The error that stops a job when the disk is full. */
function diskFullError(jobDir: string): UserError {
  return new UserError(
    `the disk of ${jobDir} is full; the job stopped`,
    'free some space and run the same command again: finished trials are kept',
  )
}

/** The code of a trial that failed because this machine ran out of something; it is retried with fewer at once. */
const exhaustedCode = 'MachineExhaustedError'

/** Whether a trial ended with that code. */
export function isExhausted(end: TrialEnd): boolean {
  return end.kind === 'failed' && end.failure.code === exhaustedCode
}

/**
 * The failure of a trial that ran out of a resource, wherever that happened: no task, agent, model or verifier is to
 * blame. Null for any other error.
 */
export function exhaustedFailure(error: unknown): BoundaryError | null {
  if (error instanceof BoundaryError && error.code === exhaustedCode) return error
  const resource = exhaustedBy(error)
  if (resource === null) return null
  noteExhaustion(resource)
  return ranOut(resource, messageOf(error), error)
}

/** The failure of a trial when a resource ran out. */
function ranOut(resource: Resource, what: string, cause?: unknown): BoundaryError {
  const message = `this machine ran out of ${resource}: ${what}`
  return new BoundaryError('sandbox', message, { code: exhaustedCode, retryable: true, cause })
}

/** The error that stops a job when a resource ran out and even its records cannot be written. */
function exhaustedError(resource: Resource, jobDir: string): UserError {
  return new UserError(
    `cannot write to ${jobDir}: this machine has run out of ${resource}; the job stopped`,
    'end other programs or run fewer trials at once (-n), then run the same command again: finished trials are kept',
    3,
  )
}

/** Resources that sandboxed programs and this process share; each process has its own file descriptors. */
const shared: readonly Resource[] = ['processes', 'memory']

interface ShortageWatch {
  /** The failure of a trial that ran during a shortage; null when nothing ran out. */
  met(): BoundaryError | null
  stop(): void
}

/**
 * Notices when this machine runs out of processes or memory during a trial. Its agent and tests may have been affected,
 * so their result does not count, neither a 0 nor a 1.
 */
export function watchShortage({ remote = false }: Pick<SandboxProvider, 'remote'>): ShortageWatch {
  if (remote) return { met: () => null, stop: () => {} }
  const forks = refusedForks()
  let met: Resource | null = null
  const stop = onExhaustion((resource) => {
    if (shared.includes(resource)) met ??= resource
  })
  return {
    stop,
    met: () => {
      const resource = met ?? (refusedForks() > forks ? 'processes' : null)
      return resource && ranOut(resource, 'programs in the sandbox may have run into it too')
    },
  }
}

/** With less than this left, a failed write is not blamed on the sandbox's own small disk. */
const spareBytes = 16 * 1024 * 1024

/** Why records cannot be written: if a person can fix it, a UserError, and the job can resume afterwards. */
export function storeFailure(error: unknown, jobDir: string): Error {
  if (isDiskFull(error)) return diskFullError(jobDir)
  const resource = exhaustedBy(error)
  if (resource !== null) return exhaustedError(resource, jobDir)
  if (error instanceof UserError || error instanceof BoundaryError) return error
  return new BoundaryError('store', `cannot write to ${jobDir}: ${messageOf(error)}`, { cause: error })
}

/** With less than this left, no failure can be blamed on anything else, and a low score cannot be trusted. */
const nothingBytes = 64 * 1024

/** The error that stops the job when a trial failed only because a disk is full; null in any other case. */
export async function fullDiskBehind(end: TrialEnd, dirs: readonly string[]): Promise<UserError | null> {
  if (end.kind === 'cancelled') return null
  const failure = end.kind === 'failed' ? end.failure : null
  const saysSo = failure !== null && /ENOSPC|No space left on device/i.test(failure.stack)
  for (const dir of dirs) {
    const room = await statfs(dir).catch(() => null)
    const leftBytes = room ? room.bavail * room.bsize : Number.POSITIVE_INFINITY
    if (leftBytes < (saysSo ? spareBytes : nothingBytes)) return diskFullError(dir)
  }
  const [jobDir = ''] = dirs
  return failure?.code === diskFullCode ? diskFullError(jobDir) : null
}
