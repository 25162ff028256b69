import { join } from 'node:path'
import { namesIn } from '../../lib/files.ts'
import { removeDeadDrafts } from '../../lib/new-dir.ts'

/**
 * Removes what a killed run left half-made; its finished shards stay. Processes that share a recipe leave each other's
 * files alone.
 */
export async function removeLeftovers(dir: string): Promise<void> {
  await removeDeadDrafts(dir)
  await removeDeadDrafts(join(dir, 'out'))
  for (const folder of [join(dir, 'stages'), join(dir, 'work')])
    for (const name of await namesIn(folder)) await removeDeadDrafts(join(folder, name))
}
