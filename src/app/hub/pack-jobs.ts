import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { packTasks, type TaskToPack } from '../../formats/task-parquet/pack-tasks.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { exists, readTextIfExists } from '../../lib/files.ts'
import { type PackOptions, packDirToBytes } from '../../lib/tar.ts'
import { type JobDir, listJobs, loadJobDir } from '../../store/job-dir.ts'
import { readOwner } from '../../store/job-owner.ts'
import { loadIndex } from '../../store/packed/packed-index.ts'
import { restoreTrial } from '../../store/packed/restore.ts'
import { jobFilesRow } from '../../store/packed/unpack-logs.ts'

/** The jobs in a folder, or the folder itself if it is a job; null if it holds something else. */
export async function jobsIn(dir: string): Promise<readonly JobDir[] | null> {
  if (await isJob(dir)) return [await loadJobDir(dir)]
  const entries = await readdir(dir, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name)
  const held = await Promise.all(names.map((name) => isJob(join(dir, name))))
  if (!held.includes(true)) return null
  const { jobs, broken } = await listJobs(dir)
  const [first] = broken
  if (first) throw new UserError(`${join(dir, first.name)}: ${first.why}`, 'fix the job, or move it elsewhere')
  return jobs
}

/** Models and trials also have a config.json; a job also has a job.json or result.json, and no trial name. */
async function isJob(dir: string): Promise<boolean> {
  const has = (name: string) => exists(join(dir, name))
  const config = await readTextIfExists(join(dir, 'config.json'))
  return config !== null && !config.includes('"trial_name"') && ((await has('job.json')) || (await has('result.json')))
}

export interface PackedJobs {
  /** The number of trials of each job. */
  readonly trials: Readonly<Record<string, number>>
  /** Links and unfinished trials. */
  readonly leftOut: readonly string[]
}

/**
 * Packs jobs into a parquet file in the format of packed tasks: a row for each finished trial (`job/trial`), and one
 * for the files of each job. The file appears whole or not at all.
 */
export async function packJobs(jobs: readonly JobDir[], out: string, signal: AbortSignal): Promise<PackedJobs> {
  const trials: Record<string, number> = {}
  const leftOut: string[] = []
  for (const job of jobs)
    if ((await readOwner(job.dir))?.liveness === 'alive')
      throw new UserError(`${job.dir}: expected a finished job, but it is still running`, 'wait until it finishes')
  async function* rows(): AsyncGenerator<TaskToPack, void, void> {
    for (const job of jobs) {
      yield { path: `${job.name}/${jobFilesRow}`, dir: job.dir, archive: () => ownFiles(job) }
      trials[job.name] = 0
      for await (const row of trialsOf(job, leftOut)) {
        trials[job.name] = (trials[job.name] ?? 0) + 1
        yield row
      }
    }
  }
  await packTasks(rows(), out, { signal })
  return { trials, leftOut }
}

/** The files of a job that belong to no trial. */
function ownFiles(job: JobDir): Promise<Uint8Array> {
  return packDirToBytes(job.dir, {
    filter: ({ path, kind }) => kind === 'file' && !path.includes('/') && !path.startsWith('.'),
    blocking: true,
  })
}

async function* trialsOf(job: JobDir, leftOut: string[]): AsyncGenerator<TaskToPack, void, void> {
  const options = (path: string): PackOptions => ({
    special: 'skip',
    blocking: true,
    filter: (entry) => {
      if (entry.kind === 'symlink') leftOut.push(`${path}/${entry.path}`)
      return entry.kind !== 'symlink'
    },
  })
  if (job.layout === 'packed') {
    const packed = join(job.dir, 'packed')
    const index = await loadIndex(packed)
    for (const name of [...index.trials.keys()].sort()) {
      const path = `${job.name}/${name}`
      const archive = async () => {
        const scratch = await makeScratchDir(join(tmpdir(), 'ot-agent-trial-'))
        try {
          await restoreTrial(packed, index, name, scratch)
          return await packDirToBytes(join(scratch, name), options(path))
        } finally {
          await removeDraft(scratch)
        }
      }
      yield { path, dir: packed, archive }
    }
    return
  }
  for (const entry of (await readdir(job.dir, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!entry.isDirectory() || entry.name.startsWith('.')) continue
    const [dir, path] = [join(job.dir, entry.name), `${job.name}/${entry.name}`]
    if (!(await exists(join(dir, 'result.json')))) leftOut.push(path)
    else yield { path, dir, archive: () => packDirToBytes(dir, options(path)) }
  }
}
