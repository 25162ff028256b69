import { createWriteStream } from 'node:fs'
import { chmod, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { UserError } from '../core/errors.ts'
import { journalName } from '../core/task-paths.ts'
import { draftOf, parseDraftName, renameDraft } from '../lib/drafts.ts'
import { codeOf, exists, isMissing } from '../lib/files.ts'
import { packDir } from '../lib/tar.ts'
import { type TreeEntry, walkTree } from '../lib/tree.ts'

// The files of an abandoned try are kept next to the trial's own as one archive: tools that find trials by their
// directories must not take an old try for a trial.
const archive = /^failed-(\d+)\.tar\.gz$/

/** Numbers of the tries set aside in a trial's directory. */
export async function listFailedTries(trialDir: string): Promise<readonly number[]> {
  const names = await readdir(trialDir)
  const numbers = names.flatMap((name) => archive.exec(name)?.[1] ?? []).map(Number)
  return numbers.sort((a, b) => a - b)
}

/**
 * Packs everything in a trial's directory into the next free `failed-N.tar.gz`, N from `least` up. Removes nothing yet.
 */
export async function packFailedTry(trialDir: string, least: number): Promise<void> {
  const taken = await listFailedTries(trialDir)
  const target = join(trialDir, `failed-${Math.max(least, (taken.at(-1) ?? 0) + 1)}.tar.gz`)
  const temporary = draftOf(target)
  try {
    await packInto(temporary, trialDir)
  } catch (error) {
    if (codeOf(error) !== 'EACCES') throw error
    await makeReadable(trialDir)
    await packInto(temporary, trialDir)
  }
  await renameDraft(temporary, target)
}

/** Marks what is being cleared: holds the result of a retracted trial, or is empty for a try without one. */
const takenBack = '.taken-back.json'

/** Whether a process died while it cleared a trial's directory; if so, the leftovers are not an interrupted try. */
export function isHalfCleared(trialDir: string): Promise<boolean> {
  return exists(join(trialDir, takenBack))
}

/** Removes everything from a trial's directory except the tries set aside; its result.json is the first to go. */
export async function clearTry(trialDir: string): Promise<void> {
  const mark = join(trialDir, takenBack)
  await rename(join(trialDir, 'result.json'), mark).catch(async (error: unknown) => {
    if (!isMissing(error)) throw error
    await writeFile(mark, '')
  })
  const names = (await readdir(trialDir)).filter((name) => !archive.test(name) && name !== takenBack)
  await Promise.all(names.map((name) => rm(join(trialDir, name), { recursive: true, force: true })))
  await rm(mark, { force: true })
}

async function packInto(file: string, trialDir: string): Promise<void> {
  const filter = ({ path }: TreeEntry) => !/^failed-\d+\.tar\.gz(\.tmp)?$/.test(path) && !isDraft(path)
  const bytes = packDir(trialDir, { links: 'keep', special: 'skip', modes: 'kept', filter })
  await pipeline(bytes, createWriteStream(file))
}

/** Our own unfinished files are at the top level; anything deeper may be the agent's. */
function isDraft(path: string): boolean {
  return !path.includes('/') && parseDraftName(path) !== null
}

/** Makes everything in a directory readable to its owner: an agent may leave logs that are not. */
export async function makeReadable(dir: string): Promise<void> {
  for await (const { path, kind, mode } of walkTree(dir)) {
    // The walk opens a directory only after it yields it, so this comes in time.
    if (kind === 'file' || kind === 'dir') await chmod(join(dir, path), mode | (kind === 'dir' ? 0o700 : 0o600))
  }
}

/** Completes the trajectories that were still being written when the trial's agent was stopped. */
export async function recoverTrajectories(trialDir: string): Promise<void> {
  for (const dir of await dirsWithJournal(trialDir)) {
    // Already loaded if there is a journal: its writer is in the same file.
    const { recoverTrajectory } = await import('../formats/atif/journal.ts')
    await recoverTrajectory(dir).catch((error: unknown) => {
      // An unreadable journal stays as it is: that is better than nothing, and no reason to lose the trial.
      if (!(error instanceof UserError)) throw error
    })
  }
}

/**
 * Sets aside a try whose process died while its agent talked to a model, because those calls were paid for. Returns
 * false when there is no such try. Removes nothing.
 */
export async function keepInterruptedTry(trialDir: string, least = 1): Promise<boolean> {
  if ((await dirsWithJournal(trialDir)).length === 0) return false
  await recoverTrajectories(trialDir)
  await packFailedTry(trialDir, least)
  return true
}

async function dirsWithJournal(trialDir: string): Promise<string[]> {
  const stepsDir = join(trialDir, 'steps')
  const steps = (await exists(stepsDir)) ? await readdir(stepsDir).catch(() => []) : []
  const dirs = [trialDir, ...steps.map((step) => join(trialDir, 'steps', step))].map((dir) => join(dir, 'agent'))
  const found = await Promise.all(dirs.map((dir) => exists(join(dir, journalName))))
  return dirs.filter((_, i) => found[i])
}
