import { mkdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { asideOf, draftBeside, removeDraft } from '../../lib/drafts.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { ArchiveError, extractInto } from '../../lib/tar.ts'
import { type OnExist, type PlannedTask, planTasks, type UnpackPlan } from './plan-unpack.ts'
import { openTaskRows, type TaskRows } from './read-rows.ts'

export interface UnpackTasksOptions {
  /** What to do with a task whose directory already exists. Default: `error`. */
  readonly onExist?: OnExist
  /** Called after each task is unpacked, before any of them is in place. */
  readonly onProgress?: (done: number, total: number) => void
  readonly signal?: AbortSignal
}

export interface UnpackedTasks {
  /** Includes replaced tasks. */
  readonly unpacked: number
  readonly replaced: number
  readonly skipped: number
  /** Total size of the written files. */
  readonly bytes: number
}

const tasksAtOnce = 4

/**
 * Unpacks a parquet file of tasks into a directory. The file is hostile: row paths and archives are checked, and a bad
 * one is a UserError that names the row. Nothing is put in place before everything is unpacked; then each task is
 * renamed into place.
 */
export async function unpackTasks(
  file: string,
  outDir: string,
  options: UnpackTasksOptions = {},
): Promise<UnpackedTasks> {
  await using rows = await openTaskRows(file)
  const plan = await planTasks(rows, file, outDir, options.onExist ?? 'error')
  const stage = await makeStage(outDir, plan.outExists)
  try {
    const bytes = await extractAll(rows, file, { tasks: plan.tasks, target: join(stage, 'new') }, options)
    await publishTasks(plan, stage, outDir)
    return { ...countActions(plan.tasks), bytes }
  } finally {
    await removeDraft(stage)
  }
}

/**
 * Creates a staging directory on the destination's file system: inside the destination if it exists, otherwise next to
 * it.
 */
async function makeStage(outDir: string, outExists: boolean): Promise<string> {
  const stage = draftBeside(outExists ? join(outDir, 'unpack') : outDir)
  await mkdir(join(stage, 'new'), { recursive: true })
  return stage
}

interface Extraction {
  readonly tasks: readonly PlannedTask[]
  readonly target: string
}

async function extractAll(
  rows: TaskRows,
  file: string,
  { tasks, target }: Extraction,
  options: UnpackTasksOptions,
): Promise<number> {
  const total = tasks.filter((task) => task.action !== 'skip').length
  let done = 0
  let bytes = 0
  for await (const size of mapInOrder(wanted(rows, tasks), tasksAtOnce, (row) => extractRow(row, file, target))) {
    options.signal?.throwIfAborted()
    bytes += size
    options.onProgress?.(++done, total)
  }
  return bytes
}

interface Row {
  readonly row: number
  readonly path: string
  readonly archive: Uint8Array
}

async function* wanted(rows: TaskRows, tasks: readonly PlannedTask[]): AsyncGenerator<Row, void, void> {
  let row = 0
  for await (const archive of rows.archives()) {
    const task = tasks[row]
    if (task && task.action !== 'skip') yield { row, path: task.path, archive }
    row++
  }
}

async function extractRow({ row, path, archive }: Row, file: string, target: string): Promise<number> {
  const dir = join(target, path)
  await mkdir(dir, { recursive: true })
  try {
    return (await extractInto(archive, dir, { blocking: true })).bytes
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error
    throw new UserError(
      `${file}: row ${row} (${JSON.stringify(path)}): ${error.message}`,
      'expected a tar or tar.gz of plain files and directories in task_binary',
    )
  }
}

function countActions(tasks: readonly PlannedTask[]): Omit<UnpackedTasks, 'bytes'> {
  const count = (action: PlannedTask['action']) => tasks.filter((task) => task.action === action).length
  return { unpacked: count('add') + count('replace'), replaced: count('replace'), skipped: count('skip') }
}

/** Moves unpacked tasks from `stage/new` into place; if one cannot be moved, everything is rolled back. */
async function publishTasks(plan: UnpackPlan, stage: string, outDir: string): Promise<void> {
  if (!plan.outExists) return rename(join(stage, 'new'), outDir)
  const asides: string[] = []
  const undo: (() => Promise<void>)[] = []
  try {
    for (const { path, action } of plan.tasks) {
      if (action === 'skip') continue
      const [fresh, place] = [join(stage, 'new', path), join(outDir, path)]
      await mkdir(dirname(place), { recursive: true })
      if (action === 'replace') {
        const aside = asideOf(place)
        asides.push(aside)
        await moveOnRecord(place, aside, undo)
      }
      await moveOnRecord(fresh, place, undo)
    }
  } catch (error) {
    for (const back of undo.reverse()) await back()
    throw error
  }
  for (const aside of asides) await removeDraft(aside)
}

async function moveOnRecord(from: string, to: string, undo: (() => Promise<void>)[]): Promise<void> {
  await rename(from, to)
  undo.push(() => rename(to, from))
}
