import { BoundaryError, isAbort, messageOf, UserError } from '../core/errors.ts'
import type { RawRow, TaskDraft, TaskLineage } from '../core/row.ts'
import { type Dropped, isDropped } from '../core/stage.ts'
import type { Task } from '../core/task.ts'
import { digestJson, rowDigest } from '../lib/digest-json.ts'
import { mapInOrder } from '../lib/map-in-order.ts'
import type { Reject, RowRecord, StagedTask, TaskSet } from '../store/task-set.ts'

/** A task as a pipeline describes it: what it leaves out is filled in from the row and the pipeline. */
export interface NewDraft extends Omit<TaskDraft, 'name' | 'lineage'> {
  /** Unique among the pipeline's tasks (default: the pipeline's name and the row's id). */
  readonly name?: string
  readonly lineage?: Partial<TaskLineage>
}

/** Rows, and how each becomes tasks. */
export interface TasksToMake {
  readonly pipeline: string
  /** How a row becomes a task, for the lineage. */
  readonly strategy: string
  /** Rows of a source, drafts that need no making, and rows that the source itself dropped. */
  readonly rows: AsyncIterable<RawRow | TaskDraft | Dropped> | Iterable<RawRow | TaskDraft | Dropped>
  /** The tasks of one row, or why there are none. Not needed for drafts. */
  readonly make?: (row: RawRow) => AsyncIterable<NewDraft | Dropped> | Iterable<NewDraft | Dropped>
  /** Rows that are worked on at once (default 16). */
  readonly width?: number
}

/** How a task was judged; `unknown` says nothing about the task, only that it could not be found out. */
export interface Judgement {
  readonly verdict: 'accepted' | 'rejected' | 'unknown'
  readonly reason: string
  readonly detail: string
}

/** Everything the making of tasks needs from outside. */
export interface Workshop {
  readonly set: TaskSet
  readonly seed: number
  readonly limit: number | null
  /** Part of every key: code, options, whatever else tasks depend on beside the row. */
  readonly version: string
  /** The last word on every draft; what it throws is the end of the run. */
  readonly finish: (draft: TaskDraft) => TaskDraft
  /** Null when tasks are not checked. */
  readonly judge: ((task: Task) => Promise<Judgement>) | null
  readonly signal: AbortSignal
  readonly onProgress: (counts: MadeTasks) => void
}

/** What making tasks came to. */
export interface MadeTasks {
  readonly tasksDir: string
  readonly rows: number
  /** Of these, how many an earlier run had finished. */
  readonly resumed: number
  readonly tasks: number
  /** Rows and tasks that were left out, by reason. */
  readonly rejects: Readonly<Record<string, number>>
  /** Of these, how many had an infrastructure failure: the same command tries them again. */
  readonly failed: number
}

/** What came of one row, before it is in the set. */
interface Worked {
  readonly key: string
  readonly row: string
  readonly staged: readonly StagedTask[]
  readonly rejects: readonly Reject[]
  /** An infrastructure failure: the row is not finished. */
  readonly failed: boolean
}

/** Makes tasks of rows in the rows' order, each row once over all runs, until the limit is reached. */
export async function makeTasks(work: TasksToMake, shop: Workshop): Promise<MadeTasks> {
  const { set, limit, signal } = shop
  const tally = new Tally(set.tasksDir)
  if (limit !== null && limit < taskCount(set)) throw tooMany(limit, set)
  const results = mapInOrder(withSignal(work.rows, signal), work.width ?? 16, (row) => workOn(row, work, shop))
  for await (const result of results) {
    if (limit !== null && tally.tasks >= limit) {
      if ('staged' in result) await discardAll(result.staged)
      break
    }
    if ('staged' in result) await settle(result, tally, shop)
    else tally.resume(result, set)
    shop.onProgress(tally.counts())
    if (limit !== null && tally.tasks >= limit) break
  }
  signal.throwIfAborted()
  return tally.counts()
}

/** Puts a row's tasks into the set and writes down that it is finished. */
async function settle({ key, row, staged, rejects, failed }: Worked, tally: Tally, { set, limit }: Workshop) {
  const room = limit === null ? staged.length : Math.max(0, limit - tally.tasks)
  const placed: string[] = []
  const doubles: Reject[] = []
  for (const task of staged) {
    if (placed.length >= room || !tally.take(task.name)) {
      if (placed.length < room)
        doubles.push({ row, task: task.name, reason: 'duplicate-name', detail: 'another row made a task of this name' })
      await task.discard()
      continue
    }
    await task.place()
    placed.push(task.name)
  }
  const all = [...rejects, ...doubles]
  tally.add({ key, row, tasks: placed, rejects: all }, failed)
  for (const reject of all) set.reject(reject)
  const isCut = placed.length + doubles.length < staged.length
  if (!failed && !isCut) await set.finish({ key, row, tasks: placed, rejects: all })
}

async function workOn(
  row: RawRow | TaskDraft | Dropped,
  work: TasksToMake,
  shop: Workshop,
): Promise<Worked | RowRecord> {
  shop.signal.throwIfAborted()
  if (isDropped(row)) return droppedRow(row)
  const isDraft = 'lineage' in row
  const id = isDraft ? row.name : row.id
  const key = digestJson([shop.version, shop.seed, isDraft ? digestJson(row) : rowDigest(row)])
  const before = shop.set.done.get(key)
  if (before) return before
  const staged: StagedTask[] = []
  const rejects: Reject[] = []
  let failed = false
  try {
    let nth = 0
    for await (const made of isDraft ? [row] : (work.make?.(row) ?? unmade(work))) {
      if (isDropped(made)) rejects.push({ row: id, task: null, reason: made.drop, detail: made.detail ?? '' })
      else {
        const outcome = await stageTask(isDraft ? row : complete(made, row as RawRow, nth++, work, shop), shop)
        if ('reason' in outcome) {
          rejects.push({ row: id, task: outcome.task, reason: outcome.reason, detail: outcome.detail })
          failed ||= outcome.failed
        } else staged.push(outcome)
      }
    }
  } catch (error) {
    if (!(error instanceof BoundaryError)) {
      await discardAll(staged)
      throw error
    }
    failed = true
    rejects.push({ row: id, task: null, reason: `${error.boundary}-failed`, detail: messageOf(error) })
  }
  return { key, row: id, staged, rejects, failed }
}

interface Refused {
  readonly task: string
  readonly reason: string
  readonly detail: string
  readonly failed: boolean
}

async function stageTask(draft: TaskDraft, { set, finish, judge }: Workshop): Promise<StagedTask | Refused> {
  const finished = finish(draft)
  let staged: StagedTask
  try {
    staged = await set.stage(finished)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return { task: draft.name, reason: 'bad-draft', detail: error.message, failed: false }
  }
  if (judge === null) return staged
  try {
    const { verdict, reason, detail } = await judge(await staged.load())
    if (verdict === 'accepted') return staged
    await staged.discard()
    return { task: staged.name, reason, detail, failed: verdict === 'unknown' }
  } catch (error) {
    await staged.discard()
    if (!(error instanceof UserError) || isAbort(error)) throw error
    return { task: staged.name, reason: 'bad-draft', detail: error.message, failed: false }
  }
}

/** A draft with everything the pipeline need not say. */
function complete(
  made: NewDraft | TaskDraft,
  row: RawRow,
  nth: number,
  work: TasksToMake,
  { seed }: Workshop,
): TaskDraft {
  const { pipeline, strategy } = work
  const usual = `${pipeline}-${row.id}`
  return {
    ...made,
    name: made.name ?? (nth === 0 ? usual : `${usual}-${nth + 1}`),
    lineage: { pipeline, strategy, rowId: row.id, rowDigest: rowDigest(row), seed, ...made.lineage },
  }
}

function droppedRow({ drop, detail = '', id = '' }: Dropped): RowRecord {
  return { key: '', row: id, tasks: [], rejects: [{ row: id, task: null, reason: drop, detail }] }
}

function unmade({ pipeline }: TasksToMake): never {
  throw new UserError(
    `${pipeline}: expected a source of task drafts, or a way to make tasks of its rows, got rows and no way`,
    'give the pipeline a make',
  )
}

class Tally {
  tasks = 0
  #rows = 0
  #resumed = 0
  #failed = 0
  readonly #rejects = new Map<string, number>()
  readonly #names = new Set<string>()

  constructor(readonly tasksDir: string) {}

  /** False when another row has a task of this name already. */
  take(name: string): boolean {
    const folded = name.toLowerCase()
    if (this.#names.has(folded)) return false
    this.#names.add(folded)
    return true
  }

  add({ tasks, rejects }: RowRecord, failed: boolean): void {
    this.#rows++
    this.tasks += tasks.length
    if (failed) this.#failed++
    for (const { reason } of rejects) this.#rejects.set(reason, (this.#rejects.get(reason) ?? 0) + 1)
  }

  resume(record: RowRecord, set: TaskSet): void {
    if (record.key !== '') this.#resumed++
    for (const name of record.tasks) this.take(name)
    this.add(record, false)
    for (const reject of record.rejects) set.reject(reject)
  }

  counts(): MadeTasks {
    const rejects = Object.fromEntries([...this.#rejects].sort(([a], [b]) => (a < b ? -1 : 1)))
    return {
      tasksDir: this.tasksDir,
      rows: this.#rows,
      resumed: this.#resumed,
      tasks: this.tasks,
      rejects,
      failed: this.#failed,
    }
  }
}

function taskCount({ done }: TaskSet): number {
  let count = 0
  for (const { tasks } of done.values()) count += tasks.length
  return count
}

function tooMany(limit: number, set: TaskSet): UserError {
  return new UserError(
    `--limit: expected at least the ${taskCount(set)} tasks that ${set.dir} already has, got ${limit}`,
    'name another --output-dir, or start over with --overwrite',
  )
}

async function discardAll(staged: readonly StagedTask[]): Promise<void> {
  for (const task of staged) await task.discard()
}

async function* withSignal<T>(
  rows: AsyncIterable<T> | Iterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, void> {
  for await (const row of rows) {
    signal.throwIfAborted()
    yield row
  }
}
