import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { taskFileName } from '../../core/task-paths.ts'
import { isMissing } from '../../lib/files.ts'
import { compareBytes } from '../../lib/tree.ts'
import { kindInTask, orUserError } from './read.ts'

/** Looked for at once: where a disk is far away, each look takes as long as the way there and back. */
const looksAtOnce = 64

/** The directories of tasks at a path, sound or not: of each it is only seen that it has a task.toml. For those who need few tasks of many. */
export async function listTaskDirs(path: string): Promise<readonly string[]> {
  const dir = await expectDir(path)
  if (await hasTaskFile(dir)) return [dir]
  const names = await namesOfTasks(dir)
  const found: string[] = []
  for (let at = 0; at < names.length; at += looksAtOnce) {
    const some = names.slice(at, at + looksAtOnce).map((name) => join(dir, name))
    // What cannot be looked at is broken; those that need it are told why.
    const are = await Promise.all(some.map((task) => hasTaskFile(task).catch(() => true)))
    found.push(...some.filter((_, i) => are[i]))
  }
  if (found.length === 0) throw noTasks(path)
  return found
}

/** The whole path of a directory; anything else is a UserError. */
export async function expectDir(path: string): Promise<string> {
  const dir = resolve(path)
  const kind = await kindInTask('/', dir)
  if (kind === 'dir') return dir
  const found = kind === null ? 'nothing there' : 'a file'
  throw new UserError(`${path}: expected a task or a folder of tasks, found ${found}`, 'check the path')
}

/** What may be tasks in a directory, in order. */
export async function namesOfTasks(dir: string): Promise<readonly string[]> {
  const names = await orUserError(dir, () => readdir(dir))
  return names.filter((name) => !isHalfMade(name)).sort(compareBytes)
}

/** Whether a directory has the file that makes it a task. */
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

/** What an interrupted writer of ours left. */
function isHalfMade(name: string): boolean {
  return name.startsWith('.') && name.endsWith('.tmp')
}

/** For a path that has no task. */
export function noTasks(path: string): UserError {
  return new UserError(
    `${path}: expected a ${taskFileName} here or in an immediate subdirectory, found none`,
    'a task has task.toml, instruction.md, environment/ and tests/test.sh; deeper folders are not searched',
  )
}
