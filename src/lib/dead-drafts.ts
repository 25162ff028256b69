import { join } from 'node:path'
import { isDeadDraft, parseDraftName, removeDraft } from './drafts.ts'
import { namesIn } from './files.ts'

/** Removes what processes that are known to be dead left half-made in a directory; what has to be put back is left to `clean`. */
export async function removeDeadDrafts(dir: string): Promise<void> {
  for (const name of await namesIn(dir))
    if (isDeadDraft(name) && !parseDraftName(name)?.putBack) await removeDraft(join(dir, name))
}
