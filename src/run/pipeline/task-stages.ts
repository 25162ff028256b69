import { UserError } from '../../core/errors.ts'
import type { RawRow, TaskDraft } from '../../core/row.ts'
import { type Dropped, isDropped, type MapStage } from '../../core/stage.ts'
import type { Task } from '../../core/task.ts'
import { rowDigest } from '../../lib/digest-json.ts'
import type { StagedTask, TaskSet } from '../../store/task-set.ts'
import type { LiveStage } from '../recipe/resolve.ts'
import { type MadeTasks, type RowStep, runRows } from '../recipe/run-rows.ts'
import type { NewDraft } from './pipeline.ts'

/** Rows, and how each becomes tasks. */
export interface TasksToMake {
  readonly pipeline: string
  /** How a row becomes a task, for the lineage. */
  readonly strategy: string
  readonly rows: RowStep['rows']
  /** Makes the tasks of one row, or says why there are none. Not needed for drafts. */
  readonly make?: (row: RawRow) => AsyncIterable<NewDraft | Dropped> | Iterable<NewDraft | Dropped>
  /** How many rows are processed at once (default 16). */
  readonly width?: number
}

/** The result of checking a task; `unknown` says nothing about the task, only that the check could not be completed. */
export interface Proof {
  readonly verdict: 'accepted' | 'rejected' | 'unknown'
  readonly reason: string
  readonly detail: string
}

/** Everything that making tasks needs from outside. */
export interface Workshop extends Pick<RowStep, 'set' | 'limit' | 'signal' | 'onProgress'> {
  readonly seed: number
  /** Part of every key: code, options, and anything else that tasks depend on besides the row and the seed. */
  readonly version: string
  /** Last change to every draft; if it throws, the run ends. */
  readonly finish: (draft: TaskDraft) => TaskDraft
  /** Names the benchmark that a draft overlaps with, or null. Absent: nothing is compared. */
  readonly benchmarkOf?: ((draft: TaskDraft) => string | null) | undefined
  /** Null when tasks are not checked. */
  readonly prove: ((task: Task) => Promise<Proof>) | null
}

/** Makes tasks from rows: each row becomes drafts, each draft is written, and each task is checked. */
export function makeTasks({ rows, width = 16, ...work }: TasksToMake, shop: Workshop): Promise<MadeTasks> {
  const { set, limit, signal, onProgress, seed, version, prove } = shop
  const stages = [
    rowStage('make', drafted(work)),
    rowStage('write', written(shop)),
    ...(prove ? [rowStage('check', checked(prove))] : []),
  ]
  const contextOf = () => ({ seed, signal, workDir: set.workDir, log: () => {} })
  return runRows({ rows, stages, contextOf, set, version: [version, seed], limit, width, signal, onProgress })
}

function rowStage(id: string, stage: MapStage<never, object>): LiveStage {
  const { takes, gives } = stage
  return { id, use: `pipeline/${id}`, with: {}, from: [], form: 'stream', takes, gives, stage }
}

/** Completes the drafts of rows; drafts from the source are already complete. */
function drafted(work: Omit<TasksToMake, 'rows' | 'width'>): MapStage<RawRow | TaskDraft, TaskDraft> {
  return {
    kind: 'map',
    takes: 'raw',
    gives: 'draft',
    async *run(rows, { seed }) {
      for await (const row of rows) {
        if ('lineage' in row) {
          yield row
          continue
        }
        let nth = 0
        for await (const made of work.make?.(row) ?? unmade(work.pipeline))
          yield isDropped(made) ? made : complete(made, row, nth++, { ...work, seed })
      }
    },
  }
}

/** A draft with everything filled in that the pipeline may omit. */
function complete(
  made: NewDraft,
  row: RawRow,
  nth: number,
  { pipeline, strategy, seed }: Pick<TasksToMake, 'pipeline' | 'strategy'> & { readonly seed: number },
): TaskDraft {
  const usual = `${pipeline}-${row.id}`
  return {
    ...made,
    name: made.name ?? (nth === 0 ? usual : `${usual}-${nth + 1}`),
    lineage: { pipeline, strategy, rowId: row.id, rowDigest: rowDigest(row), seed, ...made.lineage },
  }
}

function unmade(pipeline: string): never {
  throw new UserError(
    `${pipeline}: expected a source of task drafts, or a make that turns its rows into tasks, got neither`,
    'add make to the pipeline',
  )
}

/** Writes drafts as tasks to disk, not yet in the set. */
function written({ set, finish, benchmarkOf }: Workshop): MapStage<TaskDraft, StagedTask> {
  return {
    kind: 'map',
    takes: 'draft',
    gives: 'task',
    async *run(drafts) {
      for await (const draft of drafts) {
        const held = benchmarkOf?.(draft) ?? null
        yield held === null
          ? await stagedOr(set, finish(draft))
          : { drop: 'contaminated', detail: held, id: draft.name }
      }
    },
  }
}

async function stagedOr(set: TaskSet, draft: TaskDraft): Promise<StagedTask | Dropped> {
  try {
    return await set.stage(draft)
  } catch (error) {
    if (error instanceof UserError) return badDraft(draft.name, error)
    throw error
  }
}

/** The tasks that pass; the others are removed. */
function checked(prove: NonNullable<Workshop['prove']>): MapStage<StagedTask, StagedTask> {
  return {
    kind: 'map',
    takes: 'task',
    gives: 'task',
    async *run(tasks) {
      for await (const task of tasks) {
        const dropped = await failing(task, prove)
        if (dropped) await task.discard()
        yield dropped ?? task
      }
    },
  }
}

/** Why a task is left out; null when it passes. */
async function failing(task: StagedTask, prove: NonNullable<Workshop['prove']>): Promise<Dropped | null> {
  try {
    const { verdict, reason, detail } = await prove(await task.load())
    if (verdict === 'accepted') return null
    return { drop: reason, detail, id: task.name, ...(verdict === 'unknown' && { retry: true }) }
  } catch (error) {
    if (error instanceof UserError) return badDraft(task.name, error)
    await task.discard()
    throw error
  }
}

function badDraft(id: string, { message }: UserError): Dropped {
  return { drop: 'bad-draft', detail: message, id }
}
