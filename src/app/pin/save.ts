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

/** The path of a task's Dockerfile. */
export function dockerfileOf(dir: string): string {
  return join(environmentDir(dir), 'Dockerfile')
}

/** Copies a task with a new Dockerfile; if the task has a lineage, the original becomes the copy's parent. */
export async function copyPinned(task: Task, dockerfile: string, dir: string): Promise<void> {
  await copyTree(task.dir, dir)
  await replaceText(dockerfileOf(dir), dockerfile)
  const lineage = parseLineage(task.metadata)
  if (lineage === null) return
  // When repeated after a crash between two files or a later change, the original task stays the parent.
  const again = lineage.strategy === strategy && lineage.parents !== undefined
  const parents = again ? lineage.parents : [task.digests.content]
  const made: TaskLineage = { ...lineage, strategy, ...(parents && { parents }) }
  await editTaskTomls([dir], (table) => ({
    ...table,
    metadata: { ...Object(table.metadata), lineage: lineageTable(made) },
  }))
}

const strategy = 'pin'

/** Copies the changes of a pinned copy into the task itself, each file atomically, the Dockerfile last. */
export async function pinInPlace(pinnedDir: string, dir: string): Promise<void> {
  for (const path of [taskFileName, join(basename(environmentDir(dir)), 'Dockerfile')]) {
    const text = await readTaskText(pinnedDir, join(pinnedDir, path))
    if (text !== null && text !== (await readTaskText(dir, join(dir, path)))) await replaceText(join(dir, path), text)
  }
}

/** Copies a whole task to a free path. */
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
