import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { messageOf, UserError } from '../../core/errors.ts'
import { isMissing, readTextIfExists } from '../../lib/files.ts'
import { readJson } from '../../lib/parse-json.ts'
import { type JobDir, type Layout, loadJobDir } from '../../store/job-dir.ts'

/** Trials to read: those of a job, or those in a directory that is not a job, like Harbor's single trials. */
export interface TraceInput {
  readonly dir: string
  /** The job's name, or the directory's. */
  readonly job: string
  /** Null when there is no job. */
  readonly jobId: string | null
  readonly layout: Layout
  /** How many trials the job plans; null when unknown. */
  readonly planned: number | null
  /** The single trial that was requested; null for all. */
  readonly only: string | null
}

export interface FoundInputs {
  readonly inputs: readonly TraceInput[]
  readonly broken: readonly { readonly dir: string; readonly why: string }[]
}

/**
 * The jobs and trials that paths refer to: a job, a trial, a directory of either, or with `recursive` any directory
 * above them.
 */
export async function findInputs(paths: readonly string[], recursive: boolean): Promise<FoundInputs> {
  const inputs = new Map<string, TraceInput>()
  const broken: { dir: string; why: string }[] = []
  for (const path of paths) {
    const found = await explore(path, recursive, broken)
    if (found.length === 0 && broken.length === 0) throw nothingIn(path, recursive)
    for (const input of found) inputs.set(`${input.dir}\0${input.only ?? ''}`, input)
  }
  return { inputs: [...inputs.values()], broken }
}

async function explore(
  path: string,
  recursive: boolean,
  broken: { dir: string; why: string }[],
): Promise<TraceInput[]> {
  const dir = resolve(path)
  await checkDirectory(path)
  const kind = await kindOf(dir)
  if (kind === 'job') return [ofJob(await loadJobDir(path))]
  if (kind === 'trial') return [{ ...withoutJob(dirname(dir)), only: basename(dir) }]
  return exploreFolder(dir, recursive, broken)
}

async function exploreFolder(
  dir: string,
  recursive: boolean,
  broken: { dir: string; why: string }[],
): Promise<TraceInput[]> {
  const found: TraceInput[] = []
  let hasTrials = false
  for (const name of await directoriesIn(dir)) {
    const inside = join(dir, name)
    const kind = await kindOf(inside)
    if (kind === 'trial') hasTrials = true
    else if (kind === 'folder' && recursive) found.push(...(await exploreFolder(inside, recursive, broken)))
    else if (kind === 'job') {
      try {
        found.push(ofJob(await loadJobDir(inside)))
      } catch (error) {
        broken.push({ dir: inside, why: messageOf(error) })
      }
    }
  }
  return hasTrials ? [withoutJob(dir), ...found] : found
}

function ofJob(job: JobDir): TraceInput {
  const jobId = job.own?.id ?? job.result?.id ?? null
  return {
    dir: job.dir,
    job: job.name,
    jobId,
    layout: job.layout,
    planned: job.result?.totalTrials ?? null,
    only: null,
  }
}

function withoutJob(dir: string): TraceInput {
  return { dir, job: basename(dir), jobId: null, layout: 'harbor', planned: null, only: null }
}

/** Decided by config.json: a trial's names its trial, a job's does not. */
async function kindOf(dir: string): Promise<'job' | 'trial' | 'folder'> {
  const text = (await readTextIfExists(join(dir, 'config.json')).catch(() => null)) ?? null
  if (text === null)
    return namesTrial(await readTextIfExists(join(dir, 'result.json')).catch(() => null)) ? 'trial' : 'folder'
  return namesTrial(text) ? 'trial' : 'job'
}

function namesTrial(text: string | null): boolean {
  try {
    return text !== null && Object.hasOwn(Object(readJson(text)), 'trial_name')
  } catch {
    return false
  }
}

/** Real directories only: a link could lead anywhere, or in circles. */
async function directoriesIn(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name)
    .sort()
}

async function checkDirectory(path: string): Promise<void> {
  const hint = 'pass a job, a trial, or a directory of jobs'
  try {
    if ((await stat(path)).isDirectory()) return
  } catch (error) {
    if (!isMissing(error)) throw error
    throw new UserError(`${path}: expected a directory of jobs or trials, found nothing there`, hint)
  }
  throw new UserError(`${path}: expected a directory of jobs or trials, got a file`, hint)
}

function nothingIn(path: string, recursive: boolean): UserError {
  return new UserError(
    `${path}: expected a job, a trial or a directory of them, found none ${recursive ? 'at any depth' : 'directly in it'}`,
    recursive
      ? 'a job has a config.json; a trial has one with the name of the trial'
      : 'add --recursive to look deeper',
  )
}
