import { messageOf, UserError } from '../core/errors.ts'
import { exhaustedBy } from '../lib/exhaustion.ts'
import { codeOf } from '../lib/files.ts'

/** Runs file work and turns system errors into two-line user errors. */
export async function explainDisk<T>(where: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const reason = reasons[codeOf(error) ?? '']
    if (error instanceof UserError || reason === undefined) throw error
    throw new UserError(`${pathIn(error) ?? where}: ${reason[0]} (${codeOf(error)})`, reason[1])
  }
}

/** A permission error is never our bug: returns a user error for it, or null for any other error. */
export function forbidden(error: unknown): UserError | null {
  const code = codeOf(error) ?? ''
  const reason = ['EACCES', 'EPERM', 'EROFS'].includes(code) ? reasons[code] : undefined
  const path = error instanceof Error && 'path' in error ? error.path : undefined
  if (reason === undefined || typeof path !== 'string') return null
  return new UserError(`${path}: ${reason[0]} (${code})`, reason[1])
}

/** The same for running out of file descriptors, processes or memory. */
export function exhausted(error: unknown): UserError | null {
  const resource = exhaustedBy(error)
  if (resource === null || error instanceof UserError) return null
  const cure =
    'end other programs, run fewer trials at once (-n), or raise the limit (ulimit -a shows it); then try again'
  return new UserError(`this machine has run out of ${resource}: ${messageOf(error)}`, cure, 3)
}

/** The path in a system error, unless it is one of our own temporary names, which mean nothing to people. */
function pathIn(error: unknown): string | undefined {
  const path = error instanceof Error && 'path' in error ? error.path : undefined
  return typeof path === 'string' && !/\/\.[^/]*(tmp|work)|\.tmp(\/|$)/.test(path) ? path : undefined
}

const permission = 'check the permissions, or choose another path'
const room = 'free some space, or choose another path; nothing was left half-written'

const reasons: Readonly<Record<string, readonly [message: string, hint: string]>> = {
  EACCES: ['permission denied', permission],
  EPERM: ['permission denied', permission],
  EROFS: ['the file system is read-only', 'choose another path'],
  ENOSPC: ['the disk is full', room],
  EDQUOT: ['the disk quota is used up', room],
  ENOENT: ['no such file or directory', 'check the path'],
  ENOTDIR: ['part of the path is a file', 'choose another path'],
  EISDIR: ['expected a file, found a directory', 'give a file'],
  EEXIST: ['something else already exists there', 'move it elsewhere, or choose another path'],
  ENOTEMPTY: ['something else already exists there', 'move it elsewhere, or choose another path'],
  ENAMETOOLONG: ['the name is too long', 'choose a shorter one'],
}
