import { stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { messageOf, UserError } from '../../../core/errors.ts'
import { taskFileName } from '../../../core/task-paths.ts'
import { datasetFiles } from '../../../formats/conversations/open-rows.ts'
import { walkTasks } from '../../../formats/harbor-task/find.ts'
import { hasTaskFile } from '../../../formats/harbor-task/list.ts'
import { kindAt, namesIn } from '../../../lib/files.ts'
import { NotHere } from '../library-job.ts'
import { readWindow } from '../trial-dir-files.ts'
import { addReports, type CheckReport, usualReport } from './check-reports.ts'
import { isPack, PackSet } from './pack-set.ts'
import { factBytes, type TaskFacts, taskFacts } from './task-facts.ts'
import { type SetTask, type TaskSet, waitFor } from './task-set.ts'

/** A task and its set. */
export interface ShelfTask {
  readonly id: string
  readonly set: TaskSet
  readonly task: SetTask
}

/** Folders and packs of tasks, with the results of `tasks check`. */
export class TaskShelf {
  private readonly sets: TaskSet[] = []
  readonly reports = new Map<string, CheckReport>()

  /**
   * Picks the paths that are tasks, folders or packs of tasks, or check reports; the rest is returned for others to
   * handle.
   */
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

  /** The paths of its tasks. */
  get paths(): string[] {
    return this.sets.map(({ path }) => path)
  }

  get complete(): boolean {
    return this.sets.every(({ complete }) => complete)
  }

  get broken(): { readonly name: string; readonly why: string }[] {
    return this.sets.flatMap(({ broken }) => broken)
  }

  /** Reads what is new, waiting at most `waitMs`. */
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

/** The folder of tasks at a path, or the one that `generate` created in it; null if it is something else. */
async function folderOf(path: string): Promise<string | null> {
  if ((await kindAt(path)) !== 'dir') return null
  if (await holdsTasks(path)) return path
  const made = join(path, 'tasks')
  return (await kindAt(join(path, 'generate.json'))) === 'file' && (await holdsTasks(made)) ? made : null
}

async function holdsTasks(dir: string): Promise<boolean> {
  if (await hasTaskFile(dir)) return true
  // A job may have very many folders, none of which is a task.
  if ((await kindAt(join(dir, 'config.json'))) !== 'none') return false
  for (const name of await namesIn(dir)) if (await hasTaskFile(join(dir, name))) return true
  return false
}

/** A folder may change while it is shown, but scanning it for each request would be slow. */
const freshMs = 5000
const mostBroken = 100

/** A folder of tasks, or one task. Rescanned every few seconds; only changed tasks are reread. */
class FolderSet implements TaskSet {
  readonly name: string
  tasks: readonly SetTask[] = []
  broken: readonly { readonly name: string; readonly why: string }[] = []
  complete = false
  private readonly known = new Map<string, { readonly stamp: string; readonly facts: TaskFacts }>()
  private reading: Promise<void> | null = null
  private readAt = Number.NEGATIVE_INFINITY
  private closed = false

  constructor(readonly path: string) {
    this.name = basename(path)
  }

  async refresh(waitMs: number): Promise<void> {
    if (this.reading === null && performance.now() - this.readAt > freshMs)
      this.reading = this.read().finally(() => {
        this.reading = null
        this.readAt = performance.now()
      })
    if (this.reading) await waitFor(this.reading, this.complete ? 50 : waitMs)
  }

  async dirOf({ key }: SetTask): Promise<string> {
    return basename(this.path) === key && (await hasTaskFile(this.path)) ? this.path : join(this.path, key)
  }

  async close(): Promise<void> {
    this.closed = true
    await this.reading
  }

  private async read(): Promise<void> {
    const tasks: SetTask[] = []
    const broken: { name: string; why: string }[] = []
    // On the first read the list grows as it is read; later the old list stays until the new one is complete.
    if (!this.complete) [this.tasks, this.broken] = [tasks, broken]
    try {
      const own = await hasTaskFile(this.path)
      const found = own ? [{ dir: this.path, broken: null }] : walkTasks(this.path, { allowNoTests: true })
      for await (const { dir, broken: why } of found) {
        if (this.closed) return
        if (why === null) tasks.push({ ...(await this.factsOf(dir)), key: basename(dir) })
        else if (broken.length < mostBroken) broken.push({ name: basename(dir), why: why.replaceAll(dirname(dir), '') })
      }
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      broken.push({ name: this.name, why: messageOf(error) })
    }
    ;[this.tasks, this.broken, this.complete] = [tasks, broken, true]
  }

  private async factsOf(dir: string): Promise<TaskFacts> {
    const stamp = (await Promise.all([taskFileName, 'instruction.md'].map((name) => stampOf(join(dir, name))))).join()
    const before = this.known.get(dir)
    if (before?.stamp === stamp) return before.facts
    const [toml, instruction] = await Promise.all([beginOf(dir, taskFileName), beginOf(dir, 'instruction.md')])
    const facts = taskFacts(basename(dir), toml, instruction)
    this.known.set(dir, { stamp, facts })
    return facts
  }
}

async function beginOf(dir: string, name: string): Promise<string> {
  try {
    return (await readWindow(dir, name, 0, factBytes)).text
  } catch (error) {
    if (error instanceof NotHere) return ''
    throw error
  }
}

async function stampOf(path: string): Promise<string> {
  const stats = await stat(path).catch(() => null)
  return stats === null ? '-' : `${stats.ino} ${stats.size} ${stats.mtimeMs}`
}
