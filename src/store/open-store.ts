import { readdir } from 'node:fs/promises'
import type { Layout } from './job-dir.ts'
import type { TrialStore } from './trial-store.ts'

/** Opens the trials of a job, whichever way they are laid out. */
export async function openTrialStore(jobDir: string, layout: Layout): Promise<TrialStore> {
  if (layout === 'packed') {
    const { openPackedStore } = await import('./packed/packed-store.ts')
    return openPackedStore(jobDir)
  }
  const { openHarborLayout } = await import('./harbor-layout.ts')
  return openHarborLayout(jobDir)
}

/**
 * Loads what a store needs while trials run. Trials of an earlier run may have been interrupted, so the code that reads
 * their tapes must be loaded before the first trial.
 */
export async function loadForTrials(jobDir: string, layout: Layout): Promise<void> {
  // A packed store also reads tapes when it closes, for trials it could not commit.
  if (layout === 'packed' || (await hasTrials(jobDir))) await (await import('./tapes.ts')).loadTapeReader()
}

async function hasTrials(jobDir: string): Promise<boolean> {
  const entries = await readdir(jobDir, { withFileTypes: true }).catch(() => [])
  return entries.some((entry) => entry.isDirectory())
}
