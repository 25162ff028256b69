import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { messageOf, UserError } from '../../../core/errors.ts'
import { taskFileName } from '../../../core/task-paths.ts'
import { archiveTexts } from '../../../formats/task-parquet/archive-texts.ts'
import { openTaskRows } from '../../../formats/task-parquet/read-rows.ts'
import { parseTaskPath } from '../../../formats/task-parquet/task-path.ts'
import { ArchiveError, extractInto } from '../../../lib/tar.ts'
import { factBytes, taskFacts } from './task-facts.ts'
import { type SetTask, type TaskSet, waitFor } from './task-set.ts'

/** How many tasks stay unpacked, and the size limit for one. */
const mostOpen = 8
const mostBytes = 1 << 30

/** A parquet file of tasks. Its rows are read once; a task is unpacked to a temporary directory on demand. */
export class PackSet implements TaskSet {
  readonly name: string
  readonly tasks: SetTask[] = []
  readonly broken: { readonly name: string; readonly why: string }[] = []
  complete = false
  private reading: Promise<void> | null = null
  private readonly rows = new Map<string, number>()
  private readonly opened = new Map<number, Promise<string>>()
  private closed = false

  constructor(readonly path: string) {
    this.name = basename(path)
  }

  async refresh(waitMs: number): Promise<void> {
    this.reading ??= this.read()
    if (!this.complete) await waitFor(this.reading, waitMs)
  }

  async dirOf({ key }: SetTask): Promise<string> {
    const row = this.rows.get(key)
    if (row === undefined) throw new UserError(`${this.path}: expected a task ${JSON.stringify(key)}`, 'read it again')
    const open = this.opened.get(row) ?? this.unpack(row, key)
    // Move it to the end: the least recently used is removed first.
    this.opened.delete(row)
    this.opened.set(row, open)
    const dir = await open
    await this.removeOldest(mostOpen)
    return dir
  }

  async close(): Promise<void> {
    this.closed = true
    await this.reading
    await this.removeOldest(0)
  }

  private unpack(row: number, key: string): Promise<string> {
    const unpacking = (async () => {
      const dir = await mkdtemp(join(tmpdir(), 'ot-agent-view-task-'))
      try {
        await using rows = await openTaskRows(this.path)
        await extractInto(await rows.archive(row), dir, { limitBytes: mostBytes })
        return dir
      } catch (error) {
        await rm(dir, { recursive: true, force: true })
        if (!(error instanceof ArchiveError)) throw error
        throw new UserError(
          `${this.name}: row ${row} (${JSON.stringify(key)}): ${error.message}`,
          'expected a tar or tar.gz of plain files and directories in task_binary',
        )
      }
    })()
    unpacking.catch(() => this.opened.delete(row))
    return unpacking
  }

  private async removeOldest(most: number): Promise<void> {
    while (this.opened.size > most) {
      const [oldest] = this.opened
      if (oldest === undefined) return
      this.opened.delete(oldest[0])
      const dir = await oldest[1].catch(() => null)
      if (dir !== null) await rm(dir, { recursive: true, force: true })
    }
  }

  private async read(): Promise<void> {
    try {
      await using rows = await openTaskRows(this.path)
      const archives = rows.archives()
      let row = 0
      for await (const text of rows.paths()) {
        const { value: archive, done } = await archives.next()
        if (done || this.closed) break
        await this.add(row++, text, archive)
        // Lets the server answer other requests.
        await setImmediate()
      }
      await archives.return()
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      this.broken.push({ name: this.name, why: messageOf(error) })
    }
    this.complete = true
  }

  private async add(row: number, text: string, archive: Uint8Array): Promise<void> {
    const key = parseTaskPath(text, `${this.name}: row ${row}`)
    if (this.rows.has(key)) {
      this.broken.push({ name: key, why: `row ${row} has the path of row ${this.rows.get(key)}` })
      return
    }
    this.rows.set(key, row)
    const texts = await archiveTexts(archive, [taskFileName, 'instruction.md'], factBytes)
    const facts = taskFacts(basename(key), texts.get(taskFileName) ?? '', texts.get('instruction.md') ?? '')
    this.tasks.push({ ...facts, key })
  }
}

/** Whether a parquet file holds tasks. */
export async function isPack(path: string): Promise<boolean> {
  try {
    await using rows = await openTaskRows(path)
    return rows.rows >= 0
  } catch (error) {
    if (error instanceof UserError) return false
    throw error
  }
}
