import { join } from 'node:path'
import { namesIn } from '../../lib/files.ts'
import { removeDeadDrafts } from '../../lib/new-dir.ts'

/** What a killed run left half-made; its finished shards stay. Who shares a recipe with others leaves theirs alone. */
export async function removeLeftovers(dir: string): Promise<void> {
  await removeDeadDrafts(dir)
  await removeDeadDrafts(join(dir, 'out'))
  for (const folder of [join(dir, 'stages'), join(dir, 'work')])
    for (const name of await namesIn(folder)) await removeDeadDrafts(join(folder, name))
}
