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

// The files of a try that was given up lie beside the trial's own as one archive: tools that look for trials by their
// directories must not take an old try for a trial.
const archive = /^failed-(\d+)\.tar\.gz$/

/** Numbers of the tries that were put aside in a trial's directory. */
export async function listFailedTries(trialDir: string): Promise<readonly number[]> {
  const names = await readdir(trialDir)
  const numbers = names.flatMap((name) => archive.exec(name)?.[1] ?? []).map(Number)
  return numbers.sort((a, b) => a - b)
}

/** Puts everything in a trial's directory into the next free `failed-N.tar.gz`, N from `least` up. Removes nothing yet. */
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

/** What is being cleared: the result of a trial that is taken back, or nothing for a try that has none. */
const takenBack = '.taken-back.json'

/** Whether a process died while it cleared a trial's directory: what is left there is no interrupted try. */
export function isHalfCleared(trialDir: string): Promise<boolean> {
  return exists(join(trialDir, takenBack))
}

/** Removes everything from a trial's directory but the tries put aside; from the first moment it has no result.json. */
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

/** Files of ours that were never finished lie at the top; what is deeper may be the agent's. */
function isDraft(path: string): boolean {
  return !path.includes('/') && parseDraftName(path) !== null
}

/** Lets its owner read everything in a directory: an agent may leave logs that forbid it. */
export async function makeReadable(dir: string): Promise<void> {
  for await (const { path, kind, mode } of walkTree(dir)) {
    // A directory is opened after it was named here, so this comes in time.
    if (kind === 'file' || kind === 'dir') await chmod(join(dir, path), mode | (kind === 'dir' ? 0o700 : 0o600))
  }
}

/** Makes the trajectories of a trial whole that were still being written when its agent was stopped. */
export async function recoverTrajectories(trialDir: string): Promise<void> {
  for (const dir of await dirsWithJournal(trialDir)) {
    // Its writer is in the same file, and has loaded it before there was a journal.
    const { recoverTrajectory } = await import('../formats/atif/journal.ts')
    await recoverTrajectory(dir).catch((error: unknown) => {
      // A journal that cannot be read stays as it is: better than nothing, and no reason to lose the trial.
      if (!(error instanceof UserError)) throw error
    })
  }
}

/**
 * Puts a try aside that died with its process while its agent talked to a model: what was said was paid for. Gives false
 * when there is nothing of the kind. Removes nothing.
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
