import { mkdir, readdir, rename, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { unpackTasks } from '../../formats/task-parquet/unpack-tasks.ts'
import { draftBeside, removeDraft } from '../../lib/drafts.ts'
import { exists } from '../../lib/files.ts'
import { loadJobDir, saveLayout } from '../job-dir.ts'
import type { ConvertOptions } from './pack-job.ts'

/** The last path component of the row that holds the job's own files. */
export const jobFilesRow = '_job'

/**
 * Unpacks jobs that were packed into a parquet file, one row per trial, into a directory of jobs. The file is
 * untrusted: all rows are unpacked and every job is read before the first is put in place, and nothing existing is
 * overwritten.
 */
export async function unpackLogs(
  file: string,
  jobsDir: string,
  { onProgress, signal }: Pick<ConvertOptions, 'onProgress' | 'signal'> = {},
): Promise<{ readonly jobs: readonly string[]; readonly trials: number }> {
  await mkdir(jobsDir, { recursive: true })
  const draft = draftBeside(join(jobsDir, 'unpack'))
  try {
    const follow = { ...(onProgress && { onProgress }), ...(signal && { signal }) }
    await unpackTasks(file, draft, follow)
    const names = (await readdir(draft)).sort()
    let trials = 0
    for (const name of names) {
      if (await exists(join(jobsDir, name)))
        throw new UserError(`${join(jobsDir, name)} exists already`, 'choose another --jobs-dir, or move it elsewhere')
      trials += await assemble(join(draft, name), file)
    }
    for (const name of names) await rename(join(draft, name), join(jobsDir, name))
    return { jobs: names.map((name) => join(jobsDir, name)), trials }
  } finally {
    await removeDraft(draft)
  }
}

/** Moves a job's own files next to its trials; returns the number of trials. */
async function assemble(dir: string, file: string): Promise<number> {
  const own = join(dir, jobFilesRow)
  const trials = (await readdir(dir)).filter((name) => name !== jobFilesRow)
  if (!(await exists(join(own, 'config.json'))))
    throw new UserError(`${file}: expected jobs, with a row for each trial`, 'tasks unpack unpacks tasks')
  for (const name of await readdir(own)) {
    if (trials.includes(name) || name === jobFilesRow)
      throw new UserError(
        `${file}: a file and a trial have the same name ${JSON.stringify(name)}`,
        'the file is damaged',
      )
    await rename(join(own, name), join(dir, name))
  }
  await rmdir(own)
  const job = await loadJobDir(dir)
  if (job.layout === 'packed') await saveLayout(job, 'harbor')
  return trials.length
}
