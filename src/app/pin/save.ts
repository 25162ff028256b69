import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { messageOf, UserError } from '../../core/errors.ts'
import type { TaskLineage } from '../../core/row.ts'
import type { Task } from '../../core/task.ts'
import { environmentDir, taskFileName } from '../../core/task-paths.ts'
import { lineageTable, parseLineage } from '../../formats/harbor-task/draft.ts'
import { editTaskTomls } from '../../formats/harbor-task/edit.ts'
import { readTaskText } from '../../formats/harbor-task/read.ts'
import { makeTaskDir } from '../../formats/harbor-task/save.ts'
import { codeOf, writeAtomic } from '../../lib/files.ts'
import { copyTree } from '../../lib/tree.ts'

/** Where a task's Dockerfile is. */
export function dockerfileOf(dir: string): string {
  return join(environmentDir(dir), 'Dockerfile')
}

/** Makes a copy of a task with another Dockerfile; a task that knows where it came from gets its former self as parent. */
export async function copyPinned(task: Task, dockerfile: string, dir: string): Promise<void> {
  await copyTree(task.dir, dir)
  await replaceText(dockerfileOf(dir), dockerfile)
  const lineage = parseLineage(task.metadata)
  if (lineage === null) return
  // After a crash between two files, or once more after a change: the task it was first made from stays its parent.
  const again = lineage.strategy === strategy && lineage.parents !== undefined
  const parents = again ? lineage.parents : [task.digests.content]
  const made: TaskLineage = { ...lineage, strategy, ...(parents && { parents }) }
  await editTaskTomls([dir], (table) => ({
    ...table,
    metadata: { ...Object(table.metadata), lineage: lineageTable(made) },
  }))
}

const strategy = 'pin'

/** Puts what is new in a pinned copy into the task itself, each file whole or not at all, the Dockerfile last. */
export async function pinInPlace(pinnedDir: string, dir: string): Promise<void> {
  for (const path of [taskFileName, join(basename(environmentDir(dir)), 'Dockerfile')]) {
    const text = await readTaskText(pinnedDir, join(pinnedDir, path))
    if (text !== null && text !== (await readTaskText(dir, join(dir, path)))) await replaceText(join(dir, path), text)
  }
}

/** Writes a whole copy of a task to a path that is free. */
export async function copyTo(source: string, target: string): Promise<void> {
  await makeTaskDir(target, (temporary) => copyTree(source, temporary))
}

async function replaceText(path: string, text: string): Promise<void> {
  try {
    await writeAtomic(path, text, (await stat(path)).mode & 0o777)
  } catch (error) {
    if (codeOf(error) === undefined) throw error
    throw new UserError(`${path}: expected a writable path, got ${messageOf(error)}`, 'use --out instead')
  }
}
