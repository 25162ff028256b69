import type { Layout } from './job-dir.ts'
import type { TrialStore } from './trial-store.ts'

/** The trials of a job, whichever way they are laid out. */
export async function openTrialStore(jobDir: string, layout: Layout): Promise<TrialStore> {
  if (layout === 'packed') {
    const { openPackedStore } = await import('./packed/packed-store.ts')
    return openPackedStore(jobDir)
  }
  const { openHarborLayout } = await import('./harbor-layout.ts')
  return openHarborLayout(jobDir)
}
