import { basename } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { Task } from '../../core/task.ts'
import { findTasks } from '../../formats/harbor-task/find.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'

/** A folder with a task.toml that cannot be read as a task. */
export interface BrokenTask {
  readonly dir: string
  readonly name: string
  readonly reason: string
}

/** Reads the tasks at some paths, each once and in order; an unreadable one does not affect the others. */
export async function loadTasks(paths: readonly string[]): Promise<{ tasks: Task[]; broken: BrokenTask[] }> {
  const tasks = new Map<string, Task>()
  const broken = new Map<string, BrokenTask>()
  const refuse = (dir: string, reason: string) => broken.set(dir, { dir, name: basename(dir), reason })
  for (const path of paths) {
    const found = await findTasks(path, { allowNoTests: true })
    for (const { dir, reason } of found.broken) refuse(dir, reason)
    for (const dir of found.tasks) {
      try {
        tasks.set(dir, await loadTask(dir, { allowNoTests: true }))
      } catch (error) {
        if (!(error instanceof UserError)) throw error
        refuse(dir, error.message)
      }
    }
  }
  return { tasks: [...tasks.values()], broken: [...broken.values()] }
}
