import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { messageOf, UserError } from '../core/errors.ts'
import type { TaskDraft } from '../core/row.ts'
import type { Task } from '../core/task.ts'
import { draftFiles, safeTaskName, writeDraftFiles } from '../formats/harbor-task/draft.ts'
import { loadTask } from '../formats/harbor-task/load.ts'
import { canonicalJson } from '../lib/digest-json.ts'
import { draftOf, removeDraft } from '../lib/drafts.ts'
import { codeOf, isMissing, namesIn, readTextIfExists, writeAtomic } from '../lib/files.ts'
import { openJsonLines, readJsonLines } from '../lib/jsonl.ts'
import { readJson } from '../lib/parse-json.ts'
import { acquireOwner } from './job-owner.ts'

/** A row, or a task made from it, that is not in the set, and why. */
export interface Reject {
  readonly row: string
  readonly task: string | null
  /** A short word under which rejects are counted. */
  readonly reason: string
  readonly detail: string
}

/** The outcome of one row, written once when its tasks are in place. */
export interface RowRecord {
  /**
   * Identifies the row, the code and the options that made the tasks: a row with the same key need not be made again.
   */
  readonly key: string
  readonly row: string
  readonly tasks: readonly string[]
  readonly rejects: readonly Reject[]
}

/** A task that is written but not yet in the set. */
export interface StagedTask {
  readonly name: string
  readonly dir: string
  load(): Promise<Task>
  /** Moves it into the set, over anything left there by a run that died. */
  place(): Promise<void>
  discard(): Promise<void>
}

/** A folder of tasks that grows row by row and can be killed at any moment. One process holds it at a time. */
export interface TaskSet {
  readonly dir: string
  readonly tasksDir: string
  /** For caches, kept between runs. */
  readonly workDir: string
  /** For files that only this run needs; removed when the set is closed. */
  readonly scratchDir: string
  /** Rows that earlier runs finished, by key; their tasks are in place. */
  readonly done: ReadonlyMap<string, RowRecord>
  /** Tasks that earlier runs put in place for rows they did not finish, by key. */
  readonly begun: ReadonlyMap<string, readonly string[]>
  stage(draft: TaskDraft): Promise<StagedTask>
  /** Records which tasks of a row are about to be put into the set. */
  begin(key: string, tasks: readonly string[]): Promise<void>
  /** Records that a row's tasks are in place. */
  finish(record: RowRecord): Promise<void>
  reject(reject: Reject): void
  /** Removes tasks of rows that earlier runs did not finish, except those with these names (in lower case). */
  removeUnfinished(kept: ReadonlySet<string>): Promise<void>
  /** Writes summary.json, if given a summary, and releases the set. */
  close(summary?: object): Promise<void>
}

/** What a set was made with; a run with a different identity is refused. */
export type SetIdentity = Readonly<Record<string, unknown>>

const identityFile = 'generate.json'

/** What a set contains besides its work directory. */
const shown = ['tasks', 'rejects.jsonl', 'summary.json', identityFile]

/** Opens a set, creating it if missing; `overwrite` empties an existing one. */
export async function openTaskSet(path: string, identity: SetIdentity, overwrite = false): Promise<TaskSet> {
  const dir = resolve(path)
  const workDir = join(dir, '.work')
  const tasksDir = join(dir, 'tasks')
  await refuseOtherFolder(dir)
  await mkdir(workDir, { recursive: true })
  const releaseOwner = await acquireOwner(workDir)
  const scratchDir = draftOf(join(workDir, 'scratch'))
  try {
    await rm(join(workDir, 'staging'), { recursive: true, force: true })
    await mkdir(scratchDir, { recursive: true })
    if (overwrite) await empty(dir, scratchDir)
    await checkIdentity(dir, identity, scratchDir)
    await mkdir(tasksDir, { recursive: true })
    return await openFiles({ dir, workDir, tasksDir, scratchDir, releaseOwner })
  } catch (error) {
    await removeDraft(scratchDir)
    await releaseOwner()
    throw error
  }
}

interface Places {
  readonly dir: string
  readonly workDir: string
  readonly tasksDir: string
  readonly scratchDir: string
  readonly releaseOwner: () => Promise<void>
}

async function openFiles({ dir, workDir, tasksDir, scratchDir, releaseOwner }: Places): Promise<TaskSet> {
  const journalPath = join(workDir, 'rows.jsonl')
  const rejectsPath = join(dir, 'rejects.jsonl')
  const { done, begun } = await readJournal(journalPath, new Set(await readdir(tasksDir)))
  const journal = await openJsonLines(journalPath)
  // Every run reports all rejects, including those of rows that an earlier run finished.
  await rm(rejectsPath, { force: true })
  const rejects = await openJsonLines(rejectsPath)
  const places = makePlaces(join(scratchDir, 'staging'))
  let finished = 0
  return {
    ...{ dir, tasksDir, workDir, scratchDir, done, begun },
    stage: (draft) => stageIn(places, draft, (name) => join(tasksDir, name), scratchDir),
    begin: (key, tasks) => {
      journal.append({ key, begun: tasks })
      return journal.flush()
    },
    finish: async (record) => {
      journal.append(record)
      // A row whose line is lost with the process is simply made again; flushing often reveals a full disk early.
      if (++finished % 64 === 0) await journal.flush()
    },
    reject: (reject) => rejects.append(reject),
    removeUnfinished: async (kept) => {
      const left = [...begun.values()].flat().filter((name) => !kept.has(name.toLowerCase()))
      for (const name of left) await removeAtOnce(join(tasksDir, name), scratchDir)
    },
    close: async (summary) => {
      try {
        await journal.close()
        await rejects.close()
        await removeDraft(scratchDir)
        if (summary) await writeAtomic(join(dir, 'summary.json'), `${JSON.stringify(summary, null, 2)}\n`)
      } finally {
        await releaseOwner()
      }
    },
  }
}

/** Free places for tasks being made; two with the same name get different folders. */
function makePlaces(staging: string) {
  const taken = new Set<string>()
  return {
    take(name: string): string {
      for (let nth = 0; ; nth++) {
        const dir = join(staging, String(nth), name)
        if (taken.has(dir)) continue
        taken.add(dir)
        return dir
      }
    },
    free: (dir: string) => taken.delete(dir),
  }
}

async function stageIn(
  places: ReturnType<typeof makePlaces>,
  draft: TaskDraft,
  targetOf: (name: string) => string,
  scratchDir: string,
): Promise<StagedTask> {
  const files = draftFiles(draft)
  const name = safeTaskName(draft.name)
  const dir = places.take(name)
  await writeDraftFiles(files, dir)
  return {
    name,
    dir,
    load: () => loadTask(dir, { allowNoTests: true }),
    place: async () => {
      const target = targetOf(name)
      try {
        await rename(dir, target)
      } catch (error) {
        if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(codeOf(error) ?? '')) throw error
        // Left by a run that died before it recorded the row as finished.
        const old = await moveAside(target, scratchDir)
        await rename(dir, target)
        await old.remove()
      }
      places.free(dir)
    },
    discard: async () => {
      await rm(dir, { recursive: true, force: true })
      places.free(dir)
    },
  }
}

/** Removes a directory in one step. A task that a kill left with only some of its files would pass for complete. */
async function removeAtOnce(dir: string, scratchDir: string): Promise<void> {
  await (await moveAside(dir, scratchDir)).remove()
}

async function moveAside(dir: string, scratchDir: string): Promise<{ remove(): Promise<void> }> {
  const aside = await mkdtemp(join(scratchDir, 'removed-'))
  try {
    await rename(dir, join(aside, 'dir'))
  } catch (error) {
    // An overlay file system cannot rename a directory from a lower layer.
    if (codeOf(error) === 'EXDEV') await rm(dir, { recursive: true, force: true })
    else if (!isMissing(error)) throw error
  }
  return { remove: () => rm(aside, { recursive: true, force: true }) }
}

async function readJournal(path: string, there: ReadonlySet<string>): Promise<Pick<TaskSet, 'done' | 'begun'>> {
  const done = new Map<string, RowRecord>()
  /** For each name, the key of the row that put it there last. */
  const begun = new Map<string, string>()
  for await (const line of readJsonLines(path)) {
    const record = parseRecord(line)
    if (record?.tasks.every((name) => there.has(name))) done.set(record.key, record)
    const { key, names } = parseBegun(line)
    for (const name of names) if (there.has(name)) begun.set(name, key)
  }
  for (const { tasks } of done.values()) for (const name of tasks) begun.delete(name)
  const byKey = new Map<string, string[]>()
  for (const [name, key] of begun) byKey.set(key, [...(byKey.get(key) ?? []), name])
  return { done, begun: byKey }
}

function parseBegun(line: unknown): { readonly key: string; readonly names: readonly string[] } {
  const { key, begun } = Object(line)
  const names = Array.isArray(begun) ? begun.filter((name) => typeof name === 'string') : []
  return { key: typeof key === 'string' ? key : '', names }
}

function parseRecord(line: unknown): RowRecord | null {
  const { key, row, tasks, rejects } = Object(line)
  if (typeof key !== 'string' || typeof row !== 'string' || !Array.isArray(tasks) || !Array.isArray(rejects))
    return null
  return { key, row, tasks, rejects }
}

/** Never writes into a folder that belongs to something else. */
async function refuseOtherFolder(dir: string): Promise<void> {
  const names = await readdir(dir).catch((error: unknown): string[] => {
    if (codeOf(error) === 'ENOENT') return []
    throw new UserError(
      `${dir}: expected a folder for the tasks, got ${messageOf(error)}`,
      'choose another --output-dir',
    )
  })
  if (names.length === 0 || names.includes('.work')) return
  throw new UserError(
    `${dir}: expected a new or empty folder, or one of an earlier run, found ${names.length} other entries`,
    'choose another --output-dir',
  )
}

async function empty(dir: string, scratchDir: string): Promise<void> {
  await removeAtOnce(join(dir, 'tasks'), scratchDir)
  for (const name of [...shown, '.work/rows.jsonl']) await rm(join(dir, name), { recursive: true, force: true })
}

async function checkIdentity(dir: string, identity: SetIdentity, scratchDir: string): Promise<void> {
  const path = join(dir, identityFile)
  const text = await readTextIfExists(path)
  if (text === null) return writeIdentity(path, identity)
  const before = parseIdentity(text)
  const changed = Object.keys({ ...before, ...identity }).find(
    (key) => key !== 'schema' && canonicalJson(before[key] ?? null) !== canonicalJson(identity[key] ?? null),
  )
  if (changed === undefined) return
  if (await hasNothing(dir)) {
    await empty(dir, scratchDir)
    return writeIdentity(path, identity)
  }
  throw new UserError(
    `${dir}: expected tasks made with the same ${changed}, ${show(identity[changed])}, found ${show(before[changed])}`,
    'choose another --output-dir, or start over with --overwrite',
  )
}

/**
 * An identity that has produced no tasks, in a folder with nothing else, is not binding: it may have been, for example,
 * a wrong path that is now corrected.
 */
async function hasNothing(dir: string): Promise<boolean> {
  const strange = (await namesIn(dir)).filter((name) => name !== '.work' && !shown.includes(name))
  return strange.length === 0 && (await namesIn(join(dir, 'tasks'))).length === 0
}

function writeIdentity(path: string, identity: SetIdentity): Promise<void> {
  return writeAtomic(path, `${JSON.stringify({ schema: 'generate/1', ...identity }, null, 2)}\n`)
}

function parseIdentity(text: string): Record<string, unknown> {
  try {
    return Object(readJson(text))
  } catch {
    return {}
  }
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}
