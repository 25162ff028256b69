import { taskFileName } from '../../../core/task-paths.ts'
import type { ViewPage, ViewTextWindow } from '../../../core/view.ts'
import {
  listTaskItems,
  type TaskListRequest,
  type ViewTask,
  type ViewTaskItem,
  type ViewTaskItems,
  type ViewTaskPart,
  type ViewTaskTrial,
} from '../../../core/view-tasks.ts'
import type { Library } from '../library.ts'
import { NotHere } from '../library-job.ts'
import { listFiles, readSmall, readWindow } from '../trial-dir-files.ts'
import { failingLaw } from './check-reports.ts'
import { digestsOf } from './job-task.ts'
import { settingsOf } from './task-facts.ts'
import type { ShelfTask } from './task-shelf.ts'

/** Prefix for ids of tasks known only by name, as trials know them. */
const byName = '@'
const shownChars = 240
const largestToml = 1 << 20

/** The matching tasks in folders, packs and jobs. */
export async function viewTaskList(library: Library, request: TaskListRequest): Promise<ViewTaskItems> {
  await refresh(library, 300)
  const { items, texts } = allItems(library)
  const found = listTaskItems(items, request, ({ id, begins }) => texts.get(id) ?? begins)
  return { ...found, broken: library.tasks.broken, complete: isComplete(library) }
}

/** Every task, and the searchable texts by id. */
export function allItems(library: Library): { items: ViewTaskItem[]; texts: Map<string, string> } {
  const items: ViewTaskItem[] = []
  const texts = new Map<string, string>()
  const names = new Set<string>()
  for (const shelved of library.tasks.tasks()) {
    items.push(itemOf(library, shelved))
    texts.set(shelved.id, shelved.task.instruction)
    names.add(shelved.task.name)
  }
  for (const name of library.taskTrials.names()) if (!names.has(name)) items.push(jobItem(library, name))
  return { items, texts }
}

/** One task: its contents, whether it is sound, and how often it is solved. */
export async function viewTask(library: Library, id: string): Promise<ViewTask> {
  const found = await findTask(library, id)
  const { dir, trouble } = await dirOf(library, found)
  const { files, cut } = dir === null ? { files: [], cut: false } : await listFiles(dir)
  const parts = files.map((file) => ({ ...file, part: partOf(file.path) }))
  const report = library.tasks.reports.get(found.item.name)
  const now = dir === null || !report?.digest ? null : await digestsOf(dir)
  const toml = dir === null ? null : await readSmall(dir, taskFileName, largestToml)
  return {
    item: found.item,
    path: found.shelved?.set.path ?? dir,
    trouble,
    facts: (toml === null ? null : settingsOf(toml)) ?? [],
    files: found.shelved ? parts : parts.filter(({ path }) => isPackaged(path)),
    filesCut: cut,
    checks: report?.checks ?? [],
    findings: report?.findings ?? [],
    notes: report?.notes ?? [],
    isOld: now !== null && now.content !== report?.digest,
    rates: library.taskTrials.rates(found.item.name),
    complete: isComplete(library),
  }
}

/** A window of a task's file. */
export async function viewTaskText(
  library: Library,
  id: string,
  { path, from, bytes }: { readonly path: string; readonly from: number; readonly bytes: number },
): Promise<ViewTextWindow> {
  const found = await findTask(library, id)
  const { dir } = await dirOf(library, found)
  if (dir === null || (!found.shelved && !isPackaged(path))) throw new NotHere('the files of this task cannot be read')
  return readWindow(dir, path, from, bytes)
}

/** A task's directory; null if its files cannot be read. */
export async function taskDir(library: Library, id: string): Promise<string | null> {
  return (await dirOf(library, await findTask(library, id))).dir
}

/** A task's trials, newest first. */
export async function viewTaskTrials(
  library: Library,
  id: string,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<ViewPage<ViewTaskTrial>> {
  const { item } = await findTask(library, id)
  const all = library.taskTrials.of(item.name)
  return { items: all.slice(offset, offset + limit), offset, total: all.length, complete: isComplete(library) }
}

interface FoundTask {
  readonly item: ViewTaskItem
  /** Null if only jobs know it. */
  readonly shelved: ShelfTask | null
}

async function findTask(library: Library, id: string): Promise<FoundTask> {
  await refresh(library, 300)
  const shelved = await findShelved(library, id)
  if (shelved) return { shelved, item: itemOf(library, shelved) }
  const name = id.slice(byName.length)
  if (!id.startsWith(byName)) throw missing(id)
  // It may be in a job that is still being read.
  if (library.taskTrials.of(name).length === 0) await library.taskTrials.refresh(longWaitMs)
  if (library.taskTrials.of(name).length === 0) throw missing(id)
  return { shelved: null, item: jobItem(library, name) }
}

/** How long to wait for a set that is still being read and may contain the task. */
const longWaitMs = 60_000

async function findShelved(library: Library, id: string): Promise<ShelfTask | null> {
  const look = () => {
    let named: ShelfTask | null = null
    for (const shelved of library.tasks.tasks()) {
      if (shelved.id === id) return shelved
      if (id === `${byName}${shelved.task.name}`) named ??= shelved
    }
    return named
  }
  const found = look()
  if (found || library.tasks.complete) return found
  await library.tasks.refresh(longWaitMs)
  return look()
}

async function dirOf(library: Library, { item, shelved }: FoundTask) {
  if (shelved) return { dir: await shelved.set.dirOf(shelved.task), trouble: null }
  const [trial] = library.taskTrials.of(item.name)
  if (trial === undefined) throw missing(item.id)
  const found = await library.jobTasks.find(trial.job, trial.name)
  return 'dir' in found ? { dir: found.dir, trouble: null } : { dir: null, trouble: found.trouble }
}

function itemOf(library: Library, { id, set, task }: ShelfTask): ViewTaskItem {
  const { name, family, difficulty, instruction } = task
  const report = library.tasks.reports.get(name)
  const failing = report ? failingLaw(report) : null
  return {
    ...{ id, name, set: set.name, family, difficulty, begins: instruction.slice(0, shownChars) },
    ...{ verdict: report?.verdict ?? null, law: failing?.law ?? null, reason: failing?.reason ?? null },
    ...ratesOf(library, name),
  }
}

function jobItem(library: Library, name: string): ViewTaskItem {
  const nothing = { set: null, family: null, difficulty: null, verdict: null, law: null, reason: null }
  return { id: `${byName}${name}`, name, ...nothing, begins: '', ...ratesOf(library, name) }
}

function ratesOf(library: Library, name: string): { trials: number; mean: number | null } {
  const { trials, sum } = library.taskTrials.tally(name)
  return { trials, mean: trials === 0 ? null : sum / trials }
}

async function refresh(library: Library, waitMs: number): Promise<void> {
  await Promise.all([library.tasks.refresh(waitMs), library.taskTrials.refresh(waitMs)])
}

function isComplete(library: Library): boolean {
  return library.tasks.complete && library.taskTrials.complete
}

function missing(id: string): NotHere {
  return new NotHere(`there is no task ${JSON.stringify(id.slice(0, 200))}`)
}

const folders: readonly ViewTaskPart[] = ['environment', 'tests', 'solution']

function partOf(path: string): ViewTaskPart {
  const [top = ''] = path.replace(/^steps\/[^/]+\//, '').split('/')
  if (top === 'instruction.md') return 'instruction'
  return folders.find((part) => part === top) ?? 'other'
}

/** Whether a file counts towards a task's digest. Other files in a folder named by a job are not shown. */
function isPackaged(path: string): boolean {
  return partOf(path) !== 'other' || path === taskFileName || path === 'README.md'
}
