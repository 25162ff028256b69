import { stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { taskFileName } from '../../core/task-paths.ts'
import { parseLineage } from '../../formats/harbor-task/draft.ts'
import { findTasks } from '../../formats/harbor-task/find.ts'
import { parseToml } from '../../formats/harbor-task/parse.ts'
import { readTaskText } from '../../formats/harbor-task/read.ts'
import type { UploadKind } from '../../formats/hub/card.ts'
import { packTasks } from '../../formats/task-parquet/pack-tasks.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { isMissing, kindAt } from '../../lib/files.ts'
import { jobsIn, packJobs } from './pack-jobs.ts'

/** A folder ready to be uploaded as a dataset. */
export interface ReadyDataset {
  readonly dir: string
  readonly kind: UploadKind
  /** Where its rows come from, with counts. */
  readonly lineage: Readonly<Record<string, number>>
  /** What was not packed: links and unfinished trials. */
  readonly unpacked?: readonly string[] | undefined
}

interface Preparing {
  /** Tasks and jobs as one parquet file. */
  readonly packed: boolean
  readonly signal: AbortSignal
}

/**
 * Prepares a folder for publishing while `work` runs: packs tasks and jobs, with the same input giving the same bytes.
 */
export async function withDataset<T>(
  dir: string,
  how: Preparing,
  work: (ready: ReadyDataset) => Promise<T>,
): Promise<T> {
  const tasks = await tasksIn(dir)
  if (tasks === null) return withJobs(dir, how, work)
  const lineage = await countLineage(tasks)
  if (!how.packed) return work({ dir, kind: 'files', lineage })
  const scratch = await makeScratchDir(join(tmpdir(), 'ot-agent-packed-'))
  try {
    const packed = tasks.map((task) => ({ path: basename(task), dir: task }))
    await packTasks(packed, join(scratch, 'tasks.parquet'), { signal: how.signal })
    return await work({ dir: scratch, kind: 'tasks', lineage })
  } finally {
    await removeDraft(scratch)
  }
}

/** The same for a folder without tasks. */
async function withJobs<T>(dir: string, { packed, signal }: Preparing, work: (ready: ReadyDataset) => Promise<T>) {
  const jobs = packed ? await jobsIn(dir) : null
  if (jobs === null) return work({ dir, kind: 'files', lineage: {} })
  const scratch = await makeScratchDir(join(tmpdir(), 'ot-agent-packed-'))
  try {
    const { trials, leftOut } = await packJobs(jobs, join(scratch, 'logs.parquet'), signal)
    const lineage = Object.fromEntries(Object.entries(trials).map(([name, count]) => [`job ${name}`, count]))
    return await work({ dir: scratch, kind: 'jobs', lineage, unpacked: leftOut })
  } finally {
    await removeDraft(scratch)
  }
}

/** The tasks of a folder; null if it holds something else. */
async function tasksIn(dir: string): Promise<readonly string[] | null> {
  if (!(await isFolder(dir))) {
    const found = (await kindAt(dir)) === 'none' ? 'nothing there' : 'something else'
    throw new UserError(`${dir}: expected a folder, found ${found}`, 'check the path')
  }
  try {
    const { tasks, broken } = await findTasks(dir, { allowNoTests: true })
    const [first] = broken
    if (first) throw new UserError(`${first.dir}: ${first.reason}`, 'fix the task, or move it elsewhere')
    return tasks
  } catch (error) {
    // Anything that is not a folder of tasks may be another kind of dataset.
    if (error instanceof UserError && error.message.includes(`expected a ${taskFileName} here`)) return null
    throw error
  }
}

async function isFolder(dir: string): Promise<boolean> {
  try {
    return (await stat(dir)).isDirectory()
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** Counts tasks by pipeline, strategy, model and seed. */
async function countLineage(tasks: readonly string[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const count = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1
  }
  for (const dir of tasks) {
    const file = join(dir, taskFileName)
    const { metadata } = parseToml((await readTaskText(dir, file)) ?? '', file)
    const lineage = parseLineage(Object(metadata))
    if (!lineage) count('unknown')
    else {
      const { pipeline, strategy, model, seed } = lineage
      count(`pipeline ${pipeline}, strategy ${strategy}, seed ${seed}${model === undefined ? '' : `, model ${model}`}`)
    }
  }
  return counts
}
