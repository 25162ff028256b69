import { BoundaryError, UserError } from '../core/errors.ts'
import { codeOf } from '../lib/files.ts'

/** The code of a trial that failed because this machine had no room for its files; it stops the job. */
export const diskFullCode = 'DiskFullError'

/** Whether something failed because a disk of this machine is full. */
export function isDiskFull(error: unknown): boolean {
  const full = codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT'
  return full || (error instanceof Error && error.cause !== undefined && isDiskFull(error.cause))
}

/** Whether a write of ours met a quota: how much of that is left can be asked nowhere. */
export function isOverQuota(error: unknown): boolean {
  return codeOf(error) === 'EDQUOT' || (error instanceof Error && error.cause !== undefined && isOverQuota(error.cause))
}

/** A trial's way to say so. */
export function diskFullFailure(what: string, cause: unknown): BoundaryError {
  return new BoundaryError('store', `${what}: no space left on this machine`, { code: diskFullCode, cause })
}

/** A job's way to say so. */
export function diskFullError(jobDir: string): UserError {
  return new UserError(
    `expected room to write, found the disk of ${jobDir} full; the job stopped`,
    'free some space and run the same command again: finished trials are kept, the rest is done then',
  )
}
