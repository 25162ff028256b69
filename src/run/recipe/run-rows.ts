import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import type { RawRow, TaskDraft } from '../../core/row.ts'
import { type Dropped, isDropped, type StageContext } from '../../core/stage.ts'
import { digestJson, rowDigest } from '../../lib/digest-json.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import type { Reject, RowRecord, StagedTask, TaskSet } from '../../store/task-set.ts'
import type { LiveStage } from './resolve.ts'
import { type Reject as StageReject, StageTally, throughStages } from './step-run.ts'

/** What a source can yield: a row, a draft that needs no making, or a row that the source itself dropped. */
export type SourceRow = RawRow | TaskDraft | Dropped

/**
 * A step that keeps tasks in a folder and resumes by row, whereas other steps keep shards. It is for sources whose rows
 * are expensive to turn into tasks, and for limits on the number of tasks.
 */
export interface RowStep {
  readonly rows: AsyncIterable<SourceRow> | Iterable<SourceRow>
  /**
   * The stages that each row goes through separately. The first takes rows and drafts; the last gives tasks that are
   * written but not yet in the set.
   */
  readonly stages: readonly LiveStage[]
  readonly contextOf: (stage: LiveStage) => StageContext
  readonly set: TaskSet
  /** Part of every key: seed, code, options, and anything else that tasks depend on besides the row. */
  readonly version: readonly unknown[]
  /** At most this many tasks; null for all. */
  readonly limit: number | null
  /** How many rows are processed at once. */
  readonly width: number
  readonly signal: AbortSignal
  readonly onProgress: (counts: MadeTasks) => void
}

/** The outcome of making tasks. */
export interface MadeTasks {
  readonly tasksDir: string
  readonly rows: number
  /** How many of these an earlier run had finished. */
  readonly resumed: number
  readonly tasks: number
  /** Rows and tasks that were left out, by reason. */
  readonly rejects: Readonly<Record<string, number>>
  /** How many of these had an infrastructure failure: the same command tries them again. */
  readonly failed: number
}

/** The outcome of one row, before it is in the set. */
interface Worked {
  readonly key: string
  readonly row: string
  readonly staged: readonly StagedTask[]
  readonly rejects: readonly Reject[]
  /** An infrastructure failure: the row is not finished. */
  readonly failed: boolean
}

/** Puts rows through stages in order, each row once across all runs, until the limit is reached. */
export async function runRows(step: RowStep): Promise<MadeTasks> {
  const { set, limit, signal } = step
  const tally = new Tally(set)
  const isFull = () => limit !== null && tally.tasks >= limit
  if (limit !== null && limit < taskCount(set)) throw tooMany(limit, set)
  for await (const result of mapInOrder(step.rows, step.width, (row) => workOn(row, step))) {
    if (isFull()) {
      if ('staged' in result) await discardAll(result.staged)
      break
    }
    if ('staged' in result) await settle(result, tally, step)
    else tally.resume(result, set)
    step.onProgress(tally.counts())
    if (isFull()) break
  }
  signal.throwIfAborted()
  await set.removeUnfinished(tally.names)
  return tally.counts()
}

async function workOn(row: SourceRow, step: RowStep): Promise<Worked | RowRecord> {
  step.signal.throwIfAborted()
  if (isDropped(row)) return droppedRow(row)
  const isDraft = 'lineage' in row
  const id = isDraft ? row.name : row.id
  const key = digestJson([...step.version, isDraft ? digestJson(row) : rowDigest(row)])
  const before = step.set.done.get(key)
  if (before) return before
  const staged: StagedTask[] = []
  const dropped: StageReject[] = []
  const failures: Reject[] = []
  try {
    for await (const task of throughStages(only(row), step.stages, step, { rejects: dropped, tallies: [] }))
      staged.push(task as StagedTask)
  } catch (error) {
    if (!(error instanceof BoundaryError)) {
      await discardAll(staged)
      throw error
    }
    failures.push({ row: id, task: null, reason: `${error.boundary}-failed`, detail: messageOf(error) })
  }
  const rejects = dropped.map(({ id: name, stage, reason, detail }) => {
    // The first stage drops rows; after it, there is a task to name.
    const task = stage === step.stages[0]?.id ? null : name
    return { row: id, task, reason, detail: detail ?? '' }
  })
  const failed = failures.length > 0 || dropped.some(({ retry }) => retry)
  return { key, row: id, staged, rejects: [...rejects, ...failures], failed }
}

/** Puts a row's tasks into the set and records the row as finished. */
async function settle({ key, row, staged, rejects, failed }: Worked, tally: Tally, { set, limit }: RowStep) {
  const room = limit === null ? Number.POSITIVE_INFINITY : Math.max(0, limit - tally.tasks)
  // A row that failed may come out differently next time, so it must not take a finished row's task name.
  const mayTake = (name: string) => !(failed && tally.isFinished(name)) && tally.take(name)
  const chosen: StagedTask[] = []
  const doubles: Reject[] = []
  for (const task of staged) {
    if (chosen.length < room && mayTake(task.name)) chosen.push(task)
    else {
      if (chosen.length < room) doubles.push(double(row, task.name))
      await task.discard()
    }
  }
  const placed = chosen.map(({ name }) => name)
  if (placed.length > 0) await set.begin(key, placed)
  for (const task of chosen) await task.place()
  // If a row fails again, the tasks an earlier run made from it also stay until the row is finished.
  const before = failed ? (set.begun.get(key) ?? []) : []
  const kept: string[] = []
  for (const name of before) if (placed.length + kept.length < room && mayTake(name)) kept.push(name)
  const all = [...rejects, ...doubles]
  tally.add({ key, row, tasks: [...placed, ...kept], rejects: all }, failed)
  for (const reject of all) set.reject(reject)
  const isCut = placed.length + doubles.length < staged.length
  if (!failed && !isCut) await set.finish({ key, row, tasks: placed, rejects: all })
}

function double(row: string, task: string): Reject {
  return { row, task, reason: 'duplicate-name', detail: 'another row produced a task with this name' }
}

function droppedRow({ drop, detail = '', id = '' }: Dropped): RowRecord {
  return { key: '', row: id, tasks: [], rejects: [{ row: id, task: null, reason: drop, detail }] }
}

class Tally {
  tasks = 0
  #rows = 0
  #resumed = 0
  #failed = 0
  readonly #rejects = new StageTally('rows', 'rows')
  /** Names of all tasks, in lower case. */
  readonly names = new Set<string>()

  readonly #tasksDir: string
  /** Names of tasks from rows that earlier runs finished, in lower case. */
  readonly #finished: ReadonlySet<string>

  constructor({ tasksDir, done }: TaskSet) {
    this.#tasksDir = tasksDir
    this.#finished = new Set([...done.values()].flatMap(({ tasks }) => tasks.map((name) => name.toLowerCase())))
  }

  /** Whether a row that an earlier run finished has a task of this name. */
  isFinished(name: string): boolean {
    return this.#finished.has(name.toLowerCase())
  }

  /** False when another row has a task of this name already. */
  take(name: string): boolean {
    const folded = name.toLowerCase()
    if (this.names.has(folded)) return false
    this.names.add(folded)
    return true
  }

  add({ tasks, rejects }: RowRecord, failed: boolean): void {
    this.#rows++
    this.tasks += tasks.length
    if (failed) this.#failed++
    for (const { reason } of rejects) this.#rejects.drop(reason)
  }

  /** An earlier row that was unfinished at the time may now have a task of the same name. */
  resume({ key, row, tasks, rejects }: RowRecord, set: TaskSet): void {
    if (key !== '') this.#resumed++
    const own = tasks.filter((name) => this.take(name))
    const lost = tasks.filter((name) => !own.includes(name)).map((name) => double(row, name))
    const all = [...rejects, ...lost]
    this.add({ key, row, tasks: own, rejects: all }, false)
    for (const reject of all) set.reject(reject)
  }

  counts(): MadeTasks {
    const { tasks } = this
    const rejects = this.#rejects.count().drops
    return { tasksDir: this.#tasksDir, rows: this.#rows, resumed: this.#resumed, tasks, rejects, failed: this.#failed }
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
    'choose another --output-dir, or start over with --overwrite',
  )
}

async function discardAll(staged: readonly StagedTask[]): Promise<void> {
  for (const task of staged) await task.discard()
}

async function* only(row: object): AsyncIterable<object> {
  yield row
}
