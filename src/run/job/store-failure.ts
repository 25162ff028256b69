import { statfs } from 'node:fs/promises'
import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import type { TrialEnd } from '../../core/trial.ts'
import { codeOf } from '../../lib/files.ts'

/** With less than this left, a write that found no space was not the sandbox's own small disk. */
const spareBytes = 16 * 1024 * 1024

/** Why records cannot be written: what a person can repair is a UserError, and the job can go on afterwards. */
export function storeFailure(error: unknown, jobDir: string): Error {
  if (error instanceof UserError || error instanceof BoundaryError) return isFull(error) ? diskFull(jobDir) : error
  if (isFull(error)) return diskFull(jobDir)
  return new BoundaryError('store', `cannot write to ${jobDir}: ${messageOf(error)}`, { cause: error })
}

/** The error that stops the job when a trial failed only because the job's disk is full; null in any other case. */
export async function fullDiskBehind(end: TrialEnd, jobDir: string): Promise<UserError | null> {
  if (end.kind !== 'failed' || !/ENOSPC|EDQUOT|No space left on device/i.test(end.failure.stack)) return null
  const { bavail, bsize } = await statfs(jobDir)
  return bavail * bsize < spareBytes ? diskFull(jobDir) : null
}

function isFull(error: unknown): boolean {
  const full = codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT'
  return full || (error instanceof Error && error.cause !== undefined && isFull(error.cause))
}

function diskFull(jobDir: string): UserError {
  return new UserError(
    `expected room to write, found the disk of ${jobDir} full; the job stopped`,
    'free some space and run the same command again: finished trials are kept, the rest is done then',
  )
}
