import { UserError } from '../core/errors.ts'
import type { Layout } from './job-dir.ts'
import type { TrialStore } from './trial-store.ts'

/** The trials of a job, whichever way they are laid out. */
export async function openTrialStore(jobDir: string, layout: Layout): Promise<TrialStore> {
  if (layout === 'packed')
    throw new UserError(
      `${jobDir}: expected a job in Harbor's layout, got a packed one`,
      'this version cannot read packed jobs',
    )
  const { openHarborLayout } = await import('./harbor-layout.ts')
  return openHarborLayout(jobDir)
}
