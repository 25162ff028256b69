import { stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { messageOf, UserError } from '../../../core/errors.ts'
import { taskFileName } from '../../../core/task-paths.ts'
import { hasTaskFile, walkTasks } from '../../../formats/harbor-task/find.ts'
import { NotHere } from '../library-job.ts'
import { readWindow } from '../trial-dir-files.ts'
import { factBytes, type TaskFacts, taskFacts } from './task-facts.ts'
import { type SetTask, type TaskSet, waitFor } from './task-set.ts'

/** A folder may change while it is shown; looking at all of it for each request would be slow. */
const freshMs = 5000
const mostBroken = 100

/** A folder of tasks, or one task. Looks again every few seconds, and reads again only the tasks that changed. */
export class FolderSet implements TaskSet {
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
    // The first time a list grows while it is read; later the old one stays until the new one is whole.
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
