import { mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { TaskRow } from '../../core/row.ts'
import type { Dropped } from '../../core/stage.ts'
import { parseLineage, safeTaskName } from '../../formats/harbor-task/draft.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { ArchiveError, extractInto, packDirToBytes } from '../../lib/tar.ts'

/** How many tasks of a source are read at once. */
export const tasksAtOnce = 4

/** Turns a task directory into a row; if it is not a task or holds links, drops it with the reason. */
export async function taskRowOf(dir: string, source: string, name = basename(dir)): Promise<TaskRow | Dropped> {
  const id = `${safeTaskName(source)}.${safeTaskName(name.replaceAll('/', '--'))}`
  try {
    const task = await loadTask(dir, { allowNoTests: true })
    const instruction =
      task.steps.length > 0 ? task.steps.map((step) => step.instruction).join('\n\n') : task.instruction
    return {
      id,
      name,
      source,
      instruction,
      digest: task.digests.content,
      archive: await packDirToBytes(dir, { blocking: true }),
      lineage: parseLineage(task.metadata),
      signals: {},
    }
  } catch (error) {
    if (error instanceof UserError) return { drop: 'broken-task', detail: error.message, id }
    if (error instanceof ArchiveError) return { drop: 'unpackable-task', detail: error.message, id }
    throw error
  }
}

/**
 * Turns an untrusted archive into a row by the same rules; it is unpacked below `workDir` and repacked in our format.
 */
export async function archivedTaskRow(
  archive: Uint8Array,
  { name, source, workDir }: { readonly name: string; readonly source: string; readonly workDir: string },
): Promise<TaskRow | Dropped> {
  await mkdir(workDir, { recursive: true })
  const dir = await makeScratchDir(join(workDir, 'task-'))
  try {
    await extractInto(archive, dir, { blocking: true })
    return await taskRowOf(dir, source, name)
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error
    return { drop: 'bad-archive', detail: error.message, id: name }
  } finally {
    await removeDraft(dir)
  }
}
