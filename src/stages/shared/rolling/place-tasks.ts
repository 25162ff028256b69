import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../../core/errors.ts'
import type { TaskRow } from '../../../core/row.ts'
import type { Dropped } from '../../../core/stage.ts'
import { safeTaskName } from '../../../formats/harbor-task/draft.ts'
import { loadTask } from '../../../formats/harbor-task/load.ts'
import { ArchiveError, extractTar } from '../../../lib/tar.ts'

/** A task without its archive, which is unpacked on disk. */
export type PlacedTask = Omit<TaskRow, 'archive'>

/** No task's files are larger. */
const limitBytes = 2 ** 30

/**
 * Unpacks the untrusted archive of a task into `dir/folder`; if it is not a task, or not the one it claims to be, drops
 * it with the reason.
 */
export async function placeTask(row: TaskRow, dir: string, folder: string): Promise<Dropped | null> {
  const target = join(dir, folder)
  const refuse = async (drop: string, detail: string): Promise<Dropped> => {
    await rm(target, { recursive: true, force: true })
    return { drop, detail, id: row.id }
  }
  try {
    await extractTar(row.archive, target, { limitBytes, limitEntries: 50_000, blocking: true })
    const { digests } = await loadTask(target)
    if (digests.content === row.digest) return null
    return await refuse('digest-mismatch', `expected ${row.digest}, the archive holds ${digests.content}`)
  } catch (error) {
    if (error instanceof ArchiveError) return refuse('bad-archive', error.message)
    if (error instanceof UserError) return refuse('broken-task', error.message)
    throw error
  }
}

/** A folder name for the nth task; copies of a task get one each. */
export function folderOf({ name }: Pick<TaskRow, 'name'>, nth: number): string {
  return `${safeTaskName(name.slice(name.lastIndexOf('/') + 1))}.${nth}`
}
