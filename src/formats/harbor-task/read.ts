import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs'
import { isAbsolute, relative } from 'node:path'
import { messageOf, UserError } from '../../core/errors.ts'
import { codeOf, isMissing } from '../../lib/files.ts'

/** Upper limit for a task.toml or instruction. */
const maxTextBytes = 16 * 1024 * 1024

/**
 * What is at a path of a task, following links that stay in the task; null if nothing. The calls block: a job with many
 * tasks makes dozens for each, and dispatching to a thread takes longer than the call.
 */
export async function kindInTask(root: string, path: string): Promise<'file' | 'dir' | 'other' | null> {
  return orUserError(path, async () => {
    try {
      if (path === root) return kindOf(statSync(path))
      const plain = plainStats(root, path)
      if (plain !== 'links') return plain && kindOf(plain)
      const real = realpathSync.native(path)
      if (!isInside(realpathSync.native(root), real)) throw leavesTask(path, real)
      return kindOf(statSync(real))
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  })
}

function kindOf(stats: Stats): 'file' | 'dir' | 'other' {
  return stats.isFile() ? 'file' : stats.isDirectory() ? 'dir' : 'other'
}

/** A shortcut: a path without links below the root cannot leave the task. Null if there is nothing. */
function plainStats(root: string, path: string): Stats | null | 'links' {
  const below = path.startsWith(`${root}/`) ? path.slice(root.length + 1).split('/') : []
  if (below.length === 0 || below.some((name) => name === '' || name === '.' || name === '..')) return 'links'
  let at = root
  let stats: Stats | undefined
  for (const name of below) {
    at += `/${name}`
    stats = lstatSync(at, { throwIfNoEntry: false })
    if (!stats) return null
    if (stats.isSymbolicLink()) return 'links'
  }
  return stats ?? null
}

/** A task file's text, byte for byte; null if it does not exist. */
export async function readTaskText(root: string, path: string): Promise<string | null> {
  const kind = await kindInTask(root, path)
  if (kind === null) return null
  if (kind !== 'file') throw new UserError(`${path}: expected a file, found something else`, `make ${path} a text file`)
  const bytes = await orUserError(path, async () => readCapped(path))
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new UserError(`${path}: expected UTF-8 text, got other bytes`, `save ${path} as UTF-8`)
  }
}

/** Runs `work` on a path and turns system errors into user errors. */
export async function orUserError<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UserError || codeOf(error) === undefined) throw error
    const isForbidden = codeOf(error) === 'EACCES' || codeOf(error) === 'EPERM'
    throw new UserError(
      `${path}: expected a readable file, got ${isForbidden ? 'permission denied' : messageOf(error)}`,
      isForbidden ? `check the permissions: ls -la ${path}` : `check ${path}`,
    )
  }
}

/** Whether a path is `root` or below it; both must be free of links. */
export function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way)
}

function readCapped(path: string): Uint8Array {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const { size } = fstatSync(file)
    if (size <= maxTextBytes) return readFileSync(file)
    throw new UserError(
      `${path}: expected at most ${maxTextBytes} bytes of text, got ${size}`,
      'check that this is the right file',
    )
  } finally {
    closeSync(file)
  }
}

function leavesTask(path: string, real: string): UserError {
  return new UserError(`${path}: expected something inside the task, got a link to ${real}`, 'copy it into the task')
}

const canaryLine = /^(<!--.*canary.*-->|#.*canary.*)$/i

/** Strips canary lines and blank lines from the start of an instruction; the rest stays byte for byte. */
export function stripCanary(text: string): string {
  const lines = text.split('\n')
  const afterCanaries = lines.findIndex((line) => !canaryLine.test(line.trim()))
  if (afterCanaries < 0) return ''
  const start = lines.findIndex((line, i) => i >= afterCanaries && line.trim() !== '')
  return start < 0 ? '' : lines.slice(start).join('\n')
}
