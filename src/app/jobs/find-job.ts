import { basename, join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { exists, namesIn } from '../../lib/files.ts'
import { nearest } from '../../lib/nearest.ts'
import { type JobDir, loadJobDir } from '../../store/job-dir.ts'
import { readOwner } from '../../store/job-owner.ts'

/** Finds a job by its directory, or by its bare name in `jobsDir`. */
export async function findJob(given: string, jobsDir: string): Promise<JobDir> {
  const inside = join(jobsDir, given)
  const isInside = !given.includes('/') && (await exists(inside))
  // A folder of tasks may have the name of its job.
  if (isInside && !(await exists(join(given, 'config.json')))) return loadJobDir(inside)
  if (await exists(given)) return loadJobDir(given)
  const near = nearest(basename(given), await namesIn(jobsDir))
  throw new UserError(
    `expected the directory or the name of a job, found neither ${given} nor ${inside}`,
    near === null ? `ot-agent jobs list ${jobsDir} shows the jobs there` : `did you mean ${join(jobsDir, near)}?`,
  )
}

/** Leaves paths as given and resolves bare job names. */
export function jobPaths(given: readonly string[], jobsDir: string): Promise<string[]> {
  return Promise.all(given.map((path) => jobPath(path, jobsDir)))
}

/** Leaves a path as given, or resolves a bare job name in `jobsDir`. */
export async function jobPath(given: string, jobsDir: string): Promise<string> {
  const inside = join(jobsDir, given)
  return !given.includes('/') && !(await exists(given)) && (await exists(inside)) ? inside : given
}

/** `unknown`: Harbor or another machine may be running it, which cannot be seen from here. */
export type JobState = 'running' | 'finished' | 'interrupted' | 'unknown'

export async function stateOf(job: JobDir): Promise<JobState> {
  const owner = await readOwner(job.dir)
  if (owner?.liveness === 'alive') return 'running'
  if (job.result?.finishedAt) return 'finished'
  return owner?.liveness === 'unknown' || job.own === null ? 'unknown' : 'interrupted'
}
