import { basename, join, resolve } from 'node:path'
import { datasetFiles } from '../../../formats/conversations/open-rows.ts'
import { hasTaskFile } from '../../../formats/harbor-task/find.ts'
import { kindAt, namesIn } from '../../../lib/files.ts'
import { addReports, type CheckReport, usualReport } from './check-reports.ts'
import { FolderSet } from './folder-set.ts'
import { isPack, PackSet } from './pack-set.ts'
import type { SetTask, TaskSet } from './task-set.ts'

/** A task with the set it belongs to. */
export interface ShelfTask {
  readonly id: string
  readonly set: TaskSet
  readonly task: SetTask
}

/** Folders and packs of tasks, and what `tasks check` said about them. */
export class TaskShelf {
  private readonly sets: TaskSet[] = []
  readonly reports = new Map<string, CheckReport>()

  /** Takes the paths that are tasks, folders or packs of tasks, or reports of checks; the rest is left to others. */
  static async open(paths: readonly string[]): Promise<{ shelf: TaskShelf; rest: string[]; start: string }> {
    const shelf = new TaskShelf()
    const rest: string[] = []
    for (const path of paths) if (!(await shelf.take(resolve(path)))) rest.push(path)
    const [only] = shelf.sets
    const single = shelf.sets.length === 1 && only instanceof FolderSet && (await hasTaskFile(only.path))
    const start = single ? `#/tasks/${encodeURIComponent(basename(only.path))}` : '#/tasks'
    return { shelf, rest, start: shelf.isEmpty || rest.length > 0 ? '' : start }
  }

  get isEmpty(): boolean {
    return this.sets.length === 0
  }

  /** Where its tasks lie. */
  get paths(): string[] {
    return this.sets.map(({ path }) => path)
  }

  get complete(): boolean {
    return this.sets.every(({ complete }) => complete)
  }

  get broken(): { readonly name: string; readonly why: string }[] {
    return this.sets.flatMap(({ broken }) => broken)
  }

  /** Reads what is new, and waits for it no longer than `waitMs`. */
  async refresh(waitMs: number): Promise<void> {
    await Promise.all(this.sets.map((set) => set.refresh(waitMs)))
  }

  *tasks(): Generator<ShelfTask, void, void> {
    for (const [at, set] of this.sets.entries()) {
      const before = this.sets.length === 1 ? '' : `${at + 1}:`
      for (const task of set.tasks) yield { id: `${before}${task.key}`, set, task }
    }
  }

  async close(): Promise<void> {
    for (const set of this.sets) await set.close()
  }

  private async take(path: string): Promise<boolean> {
    if (path.endsWith('.json') && (await kindAt(path)) === 'file') return addReports(path, this.reports)
    const folder = await folderOf(path)
    if (folder !== null) {
      this.sets.push(new FolderSet(folder))
      for (const dir of new Set([path, folder])) {
        const report = join(dir, usualReport)
        if ((await kindAt(report)) === 'file') await addReports(report, this.reports)
      }
      return true
    }
    const packs = (await datasetFiles(path)).filter((file) => file.endsWith('.parquet'))
    const [first] = packs
    if (first === undefined || !(await isPack(first))) return false
    this.sets.push(...packs.map((file) => new PackSet(file)))
    return true
  }
}

/** The folder of tasks that a path is, or that `generate` made in it; null when it is something else. */
async function folderOf(path: string): Promise<string | null> {
  if ((await kindAt(path)) !== 'dir') return null
  if (await holdsTasks(path)) return path
  const made = join(path, 'tasks')
  return (await kindAt(join(path, 'generate.json'))) === 'file' && (await holdsTasks(made)) ? made : null
}

async function holdsTasks(dir: string): Promise<boolean> {
  if (await hasTaskFile(dir)) return true
  // A job may have very many folders, and none of them is a task.
  if ((await kindAt(join(dir, 'config.json'))) !== 'none') return false
  for (const name of await namesIn(dir)) if (await hasTaskFile(join(dir, name))) return true
  return false
}
