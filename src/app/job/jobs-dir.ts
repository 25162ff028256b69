import { randomBytes } from 'node:crypto'
import { lstat, mkdir, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { codeOf, isMissing } from '../../lib/files.ts'

/**
 * Makes sure that a directory can hold jobs, by creating and removing one in it. A permission check is not enough: root
 * may write anywhere, yet not in /proc.
 */
export async function checkJobsDir(jobsDir: string): Promise<void> {
  const refused = await tryToWriteIn(jobsDir)
  if (refused === null) return
  throw new UserError(
    `${jobsDir}: expected a writable directory for jobs, got ${refused}`,
    'choose another one with --jobs-dir, or free some space or fix the permissions there',
  )
}

/** Why a directory cannot be written to, such as `EACCES at /place`; null if it can. */
export async function tryToWriteIn(dir: string): Promise<string | null> {
  let parent = dir
  while (!(await isThere(parent)) && parent !== dirname(parent)) parent = dirname(parent)
  const probe = join(parent, `.ot-agent-${randomBytes(4).toString('hex')}`)
  try {
    await mkdir(probe)
    await rmdir(probe)
    return null
  } catch (error) {
    return `${codeOf(error) ?? 'an error'} at ${parent}`
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    return !isMissing(error)
  }
}
