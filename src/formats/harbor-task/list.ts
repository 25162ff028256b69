import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { taskFileName } from '../../core/task-paths.ts'
import { isMissing } from '../../lib/files.ts'
import { compareBytes } from '../../lib/tree.ts'
import { kindInTask, orUserError } from './read.ts'

/** How many directories are checked in parallel: on a remote disk, each check takes a round trip. */
const looksAtOnce = 64

/**
 * The task directories at a path, valid or not: only checks that each has a task.toml. For callers that need few of
 * many tasks.
 */
export async function listTaskDirs(path: string): Promise<readonly string[]> {
  const dir = await expectDir(path)
  if (await hasTaskFile(dir)) return [dir]
  const names = await namesOfTasks(dir)
  const found: string[] = []
  for (let at = 0; at < names.length; at += looksAtOnce) {
    const some = names.slice(at, at + looksAtOnce).map((name) => join(dir, name))
    // A directory that cannot be inspected is broken; loading it reports the error.
    const are = await Promise.all(some.map((task) => hasTaskFile(task).catch(() => true)))
    found.push(...some.filter((_, i) => are[i]))
  }
  if (found.length === 0) throw noTasks(path)
  return found
}

/** The absolute path of a directory; anything else is a UserError. */
export async function expectDir(path: string): Promise<string> {
  const dir = resolve(path)
  const kind = await kindInTask('/', dir)
  if (kind === 'dir') return dir
  const found = kind === null ? 'nothing there' : 'a file'
  throw new UserError(`${path}: expected a task or a folder of tasks, found ${found}`, 'check the path')
}

/** The entries of a directory that may be tasks, in order. */
export async function namesOfTasks(dir: string): Promise<readonly string[]> {
  const names = await orUserError(dir, () => readdir(dir))
  return names.filter((name) => !isHalfMade(name)).sort(compareBytes)
}

/** Whether a directory has a task.toml. */
export async function hasTaskFile(dir: string): Promise<boolean> {
  return orUserError(dir, async () => {
    try {
      return statSync(join(dir, taskFileName), { throwIfNoEntry: false }) !== undefined
    } catch (error) {
      if (isMissing(error)) return false
      throw error
    }
  })
}

/** True for the leftovers of our own interrupted writes. */
function isHalfMade(name: string): boolean {
  return name.startsWith('.') && name.endsWith('.tmp')
}

/** The error for a path without tasks. */
export function noTasks(path: string): UserError {
  return new UserError(
    `${path}: expected a ${taskFileName} here or in an immediate subdirectory, found none`,
    'a task has task.toml, instruction.md, environment/ and tests/test.sh; deeper folders are not searched',
  )
}
