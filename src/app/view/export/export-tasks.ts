import type { Library } from '../library.ts'
import { allItems, taskDir, viewTask } from '../tasks/view-task.ts'
import { exportText, mostFiles, type Writer } from './export-job.ts'

/** Beyond anything that can be read. */
const waitMs = 3_600_000

/** Writes the tasks that were named with their files, and of those that only jobs know the solve rates. Returns how many there are. */
export async function exportTasks(library: Library, writer: Writer): Promise<number> {
  await Promise.all([library.tasks.refresh(waitMs), library.taskTrials.refresh(waitMs)])
  const { items } = allItems(library)
  await writer.json(['tasks'], { items, broken: [] })
  for (const { id, name, set } of items) {
    writer.signal.throwIfAborted()
    const view = await viewTask(library, id)
    const files = set === null ? [] : view.files.slice(0, mostFiles)
    const trouble = set === null ? 'The files of this task are not part of this export.' : null
    const filesCut = set !== null && (view.filesCut || files.length < view.files.length)
    const published = { ...view, path: null, files, filesCut, trouble }
    await writer.json(['tasks', id], published)
    // Trials know their task by its name.
    if (set !== null) await writer.json(['tasks', `@${name}`], published)
    await writer.json(['tasks', id, 'trials'], { items: library.taskTrials.of(name) })
    const dir = files.length === 0 ? null : await taskDir(library, id)
    if (dir !== null) for (const { path } of files) await exportText(dir, path, ['tasks', id], writer)
  }
  return items.length
}
