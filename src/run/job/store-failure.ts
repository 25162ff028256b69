import { statfs } from 'node:fs/promises'
import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import type { TrialEnd } from '../../core/trial.ts'
import { exhaustedBy } from '../../lib/exhaustion.ts'
import { diskFullCode, diskFullError, exhaustedError, isDiskFull } from '../exhausted.ts'

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

/** With less than this left, nothing that went wrong can be blamed on anything else, and a low score cannot be trusted. */
const nothingBytes = 64 * 1024

/** The error that stops the job when a trial went wrong only because a disk is full; null in any other case. */
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
