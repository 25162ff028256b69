import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import { journalName, recoverTrajectory } from '../formats/atif/journal.ts'
import { exists } from '../lib/files.ts'
import { packFailedTry } from './failed-tries.ts'

/** Makes the trajectories of a trial whole that were still being written when its agent was stopped. */
export async function recoverTrajectories(trialDir: string): Promise<void> {
  for (const dir of await dirsWithJournal(trialDir)) {
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
  const steps = await readdir(join(trialDir, 'steps')).catch(() => [])
  const dirs = [trialDir, ...steps.map((step) => join(trialDir, 'steps', step))].map((dir) => join(dir, 'agent'))
  const found = await Promise.all(dirs.map((dir) => exists(join(dir, journalName))))
  return dirs.filter((_, i) => found[i])
}
