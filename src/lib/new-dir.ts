import { lstat, mkdir, rmdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { draftBeside, isDeadDraft, parseDraftName, removeDraft, renameDraft } from './drafts.ts'
import { codeOf, isMissing } from './exhaustion.ts'
import { namesIn } from './files.ts'

/** Thrown, before anything is written, when the directory to make already exists. */
export class AlreadyThere extends Error {
  constructor(readonly path: string) {
    super(`${path} already exists`)
  }
}

/**
 * Makes a directory that appears whole or not at all: `fill` writes into a hidden sibling, which is then renamed. If
 * `fill` throws, everything that was made is removed, including parents.
 */
export async function makeDirWhole(path: string, fill: (temporary: string) => Promise<void>): Promise<void> {
  const target = resolve(path)
  if (await isThere(target)) throw new AlreadyThere(path)
  const parent = dirname(target)
  const firstMade = await mkdir(parent, { recursive: true })
  const temporary = draftBeside(target)
  try {
    await mkdir(temporary)
    await fill(temporary)
    await renameDraft(temporary, target)
  } catch (error) {
    await removeDraft(temporary)
    if (firstMade !== undefined) await removeEmpty(parent, firstMade)
    const isTaken = codeOf(error) === 'ENOTEMPTY' || codeOf(error) === 'EEXIST'
    throw isTaken && (await isThere(target)) ? new AlreadyThere(path) : error
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** Removes `dir` and its parents up to `last` while they are empty. */
async function removeEmpty(dir: string, last: string): Promise<void> {
  try {
    await rmdir(dir)
    if (dir !== last) await removeEmpty(dirname(dir), last)
  } catch (error) {
    if (codeOf(error) === undefined) throw error
  }
}

/** Removes what processes known to be dead left unfinished in a directory; what must be put back is left to `clean`. */
export async function removeDeadDrafts(dir: string): Promise<void> {
  for (const name of await namesIn(dir))
    if (isDeadDraft(name) && !parseDraftName(name)?.putBack) await removeDraft(join(dir, name))
}
