import { statfs } from 'node:fs/promises'
import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import type { TrialEnd } from '../../core/trial.ts'
import { exhaustedBy } from '../../lib/exhaustion.ts'
import { diskFullCode, diskFullError, isDiskFull } from '../disk-full.ts'
import { exhaustedError } from '../exhausted.ts'

/** With less than this left, a write that found no space was not the sandbox's own small disk. */
const spareBytes = 16 * 1024 * 1024

/** Why records cannot be written: what a person can repair is a UserError, and the job can go on afterwards. */
export function storeFailure(error: unknown, jobDir: string): Error {
  if (isDiskFull(error)) return diskFullError(jobDir)
  const resource = exhaustedBy(error)
  if (resource !== null) return exhaustedError(resource, jobDir)
  if (error instanceof UserError || error instanceof BoundaryError) return error
  return new BoundaryError('store', `cannot write to ${jobDir}: ${messageOf(error)}`, { cause: error })
}

/** The error that stops the job when a trial failed only because the job's disk is full; null in any other case. */
export async function fullDiskBehind(end: TrialEnd, jobDir: string): Promise<UserError | null> {
  if (end.kind !== 'failed') return null
  if (end.failure.code === diskFullCode) return diskFullError(jobDir)
  if (!/ENOSPC|EDQUOT|No space left on device/i.test(end.failure.stack)) return null
  const { bavail, bsize } = await statfs(jobDir)
  return bavail * bsize < spareBytes ? diskFullError(jobDir) : null
}
