import { UserError } from '../../../core/errors.ts'
import { digestTask } from '../../../formats/harbor-task/digests.ts'
import { hasTaskFile } from '../../../formats/harbor-task/list.ts'
import { readFinishedTrial } from '../../../store/harbor-layout.ts'
import { type LibraryJobs, NotHere } from '../library-job.ts'
import type { OpenTrials } from '../open-trials.ts'
import { listFiles } from '../trial-dir-files.ts'

/** Larger tasks are not read completely to find out their version. */
const mostBytes = 256 << 20

/** Where a trial's task is now, or why it cannot be shown. */
export type JobTask = { readonly dir: string } | { readonly trouble: string }

/**
 * Tasks that jobs refer to. A record may come from elsewhere and name any directory, so only the exact task that ran is
 * shown.
 */
export class JobTasks {
  private readonly known = new Map<string, string>()

  constructor(
    private readonly library: LibraryJobs,
    private readonly trials: OpenTrials,
  ) {}

  async find(jobId: string, trial: string): Promise<JobTask> {
    const job = await this.library.job(jobId)
    const record = await readFinishedTrial(await this.trials.dirOf(job, trial))
    if (record === null) throw new NotHere(`trial ${JSON.stringify(trial)} no longer exists`)
    const { task } = record
    const key = JSON.stringify([task.path, task.digest, task.checksum])
    const before = this.known.get(key)
    if (before !== undefined) return { dir: before }
    if (task.path === '' || !(await isTask(task.path)))
      return { trouble: 'The files of this task are no longer on this machine.' }
    const digests = await digestsOf(task.path)
    if (digests === null) return { trouble: 'The files of this task cannot be read.' }
    const isSame = task.digest === '' ? digests.dirhash === task.checksum : digests.content === task.digest
    if (!isSame) return { trouble: 'The files of this task have changed since it ran.' }
    this.known.set(key, task.path)
    return { dir: task.path }
  }
}

/** The digests of a task; null if it is not a task, or too large. */
export async function digestsOf(dir: string): Promise<{ readonly content: string; readonly dirhash: string } | null> {
  const { files, cut } = await listFiles(dir)
  if (cut || files.reduce((sum, { bytes }) => sum + bytes, 0) > mostBytes) return null
  try {
    return await digestTask(dir)
  } catch (error) {
    if (error instanceof UserError) return null
    throw error
  }
}

async function isTask(dir: string): Promise<boolean> {
  try {
    return await hasTaskFile(dir)
  } catch (error) {
    if (error instanceof UserError) return false
    throw error
  }
}
