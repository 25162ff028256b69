import { readdir, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { z } from 'zod'
import { messageOf, UserError } from '../core/errors.ts'
import type { JobConfig } from '../core/job.ts'
import type { JobResult } from '../core/job-stats.ts'
import type { HostEnv } from '../core/redact.ts'
import { parseJobConfig, renderJobConfig } from '../formats/harbor-job/job-config.ts'
import { parseJobResult, renderJobResult } from '../formats/harbor-job/job-result.ts'
import { type JobLock, renderJobLock } from '../formats/harbor-job/lock.ts'
import { readJsonDocument } from '../formats/harbor-job/read-config.ts'
import { writeText } from '../lib/disk.ts'
import { codeOf, exists, isMissing, readTextIfExists, writeAtomic } from '../lib/files.ts'
import { AlreadyThere, makeDirWhole } from '../lib/new-dir.ts'
import { readJson } from '../lib/parse-json.ts'

const jobFileSchema = z.object({
  schema: z.literal('job/1'),
  id: z.string(),
  /** What distinguishes this job from any other; only the code that runs jobs knows its contents. */
  identity: z.record(z.string(), z.unknown()),
  startedAt: z.string(),
  layout: z.enum(['harbor', 'packed']),
})

/** Our own file next to Harbor's: job.json. */
export type JobFile = Readonly<z.output<typeof jobFileSchema>>
export type Layout = JobFile['layout']

export interface NewJob extends Omit<JobFile, 'schema'> {
  readonly config: JobConfig
  readonly lock: JobLock
}

/** A job as read from its directory. */
export interface JobDir {
  readonly dir: string
  readonly name: string
  readonly config: JobConfig
  /** Null when Harbor made the directory. */
  readonly own: JobFile | null
  /** Null before the first trial begins. */
  readonly result: JobResult | null
  readonly layout: Layout
}

/** Makes a job's directory with everything known before it starts, all at once or not at all. */
export async function createJobDir(dir: string, job: NewJob, host: HostEnv = process.env): Promise<void> {
  const { config, lock, ...own } = job
  const file: JobFile = { schema: 'job/1', ...own }
  try {
    await makeDirWhole(dir, async (temporary) => {
      await writeFile(join(temporary, 'config.json'), renderJobConfig(config, host))
      await writeFile(join(temporary, 'lock.json'), inPieces(renderJobLock(lock, host)))
      await writeFile(join(temporary, 'job.json'), `${JSON.stringify(file, null, 2)}\n`)
    })
  } catch (error) {
    throw notWritable(error, dir)
  }
}

/** Reads the files of a job, whether ot-agent or Harbor made it. */
export async function loadJobDir(path: string): Promise<JobDir> {
  const settings = await loadJobSettings(path)
  const result = await readFileOf(path, 'result.json')
  return { ...settings, result: result === null ? null : parseJobResult(result, join(path, 'result.json')) }
}

/** Like `loadJobDir`, but skips the result, which lists every trial. */
export async function loadJobSettings(path: string): Promise<Omit<JobDir, 'result'>> {
  const dir = resolve(path)
  const config = await readFileOf(path, 'config.json')
  if (config === null || !isJobConfig(config)) throw await notAJob(path)
  const file = join(path, 'config.json')
  const text = await readFileOf(path, 'job.json')
  const own = text === null ? null : parseJobFile(text, join(path, 'job.json'))
  return {
    dir,
    name: basename(dir),
    config: parseJobConfig(readJsonDocument(config, file), { path: file }).config,
    own,
    layout: own?.layout ?? ((await exists(join(path, 'packed'))) ? 'packed' : 'harbor'),
  }
}

/** Whether a directory holds a job of exactly this model. */
export async function isJobOf(path: string, model: string): Promise<boolean> {
  const job = await loadJobSettings(path).catch(() => null)
  const models = job?.config.agents.map(({ modelName }) => modelName) ?? []
  return models.length > 0 && models.every((each) => each === model)
}

/** Every job in a directory of jobs, by name; those that cannot be read are listed separately. */
export async function listJobs(jobsDir: string): Promise<{ jobs: JobDir[]; broken: { name: string; why: string }[] }> {
  const jobs: JobDir[] = []
  const broken: { name: string; why: string }[] = []
  for (const name of await directoriesIn(jobsDir)) {
    const dir = join(jobsDir, name)
    const config = await readFileOf(dir, 'config.json').catch(() => null)
    if (config === null || !isJobConfig(config)) continue
    try {
      jobs.push(await loadJobDir(dir))
    } catch (error) {
      broken.push({ name, why: messageOf(error) })
    }
  }
  return { jobs, broken }
}

/** Whether every trial of the job has ended and its result is final. */
export function isFinished(job: Pick<JobDir, 'result'>): boolean {
  return job.result !== null && job.result.finishedAt !== null
}

/**
 * Records how the job's trials are laid out from now on. A Harbor job has no such file; there, the presence of a
 * `packed` directory decides.
 */
export async function saveLayout(job: JobDir, layout: Layout): Promise<void> {
  if (job.own === null) return
  const file: JobFile = { ...job.own, layout }
  await writeAtomic(join(job.dir, 'job.json'), `${JSON.stringify(file, null, 2)}\n`)
}

/** Rewrites config.json if it differs, for a job that resumes with settings that do not affect its identity. */
export async function saveJobConfig(dir: string, config: JobConfig, host: HostEnv = process.env): Promise<void> {
  const path = join(dir, 'config.json')
  const text = renderJobConfig(config, host)
  if ((await readTextIfExists(path)) !== text) await writeAtomic(path, text)
}

/** Rewrites result.json. It is large when there are many trials, so callers decide how often. */
export async function saveJobResult(dir: string, result: JobResult): Promise<void> {
  await writeAtomic(join(dir, 'result.json'), renderJobResult(result))
}

/** Adds a line to job.log. */
export async function appendJobLog(dir: string, line: string): Promise<void> {
  await writeText(join(dir, 'job.log'), `${line}\n`, 'a')
}

async function readFileOf(dir: string, name: string): Promise<string | null> {
  try {
    return await readTextIfExists(join(dir, name))
  } catch (error) {
    if (codeOf(error) === undefined) throw error
    throw new UserError(
      `${join(dir, name)}: expected a readable file, got ${codeOf(error)}`,
      'check the permissions of the directory',
    )
  }
}

/** A trial has a config.json too. */
function isJobConfig(text: string): boolean {
  try {
    const document: unknown = readJson(text)
    return typeof document === 'object' && document !== null && !('trial_name' in document)
  } catch {
    return true
  }
}

function parseJobFile(text: string, path: string): JobFile {
  const hint = 'the file is written once when a job starts; restore it, or remove the directory'
  let document: unknown
  try {
    document = readJson(text)
  } catch {
    throw new UserError(`${path}: expected JSON, got ${JSON.stringify(text.slice(0, 40))}`, hint)
  }
  const parsed = jobFileSchema.safeParse(document)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new UserError(`${path}: ${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'not valid'}`, hint)
}

async function directoriesIn(jobsDir: string): Promise<string[]> {
  try {
    const entries = await readdir(jobsDir, { withFileTypes: true })
    return entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map((entry) => entry.name)
      .sort()
  } catch (error) {
    if (!isMissing(error) && codeOf(error) !== 'EACCES') throw error
    const got =
      codeOf(error) === 'ENOENT'
        ? 'nothing there'
        : codeOf(error) === 'ENOTDIR'
          ? 'a file'
          : 'one without read permission'
    throw new UserError(`${jobsDir}: expected a directory of jobs, found ${got}`, 'pass the --jobs-dir of a run')
  }
}

async function notAJob(path: string): Promise<UserError> {
  const stats = await stat(path).catch(() => null)
  const got =
    stats === null ? 'nothing there' : stats.isDirectory() ? 'a directory without the config.json of a job' : 'a file'
  return new UserError(
    `${path}: expected the directory of a job, found ${got}`,
    'jobs list shows the jobs of a directory',
  )
}

/** Turns the system's error about a directory that cannot be made into two lines. */
function notWritable(error: unknown, dir: string): unknown {
  if (error instanceof AlreadyThere) {
    return new UserError(
      `${dir}: expected a new directory, but it already exists`,
      'resume that job, or choose another --job-name',
    )
  }
  const why = reasons[codeOf(error) ?? '']
  if (why === undefined) return error
  return new UserError(
    `${dir}: cannot create the directory of the job: ${why}`,
    'choose another --jobs-dir, or free some space or fix the permissions there',
  )
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied (EACCES)',
  EPERM: 'permission denied (EPERM)',
  EROFS: 'the file system is read-only (EROFS)',
  ENOSPC: 'the disk is full (ENOSPC)',
  EDQUOT: 'the disk quota is used up (EDQUOT)',
  ENOTDIR: 'part of the path is a file (ENOTDIR)',
  EEXIST: 'part of the path is a file (EEXIST)',
  ENAMETOOLONG: 'the name is too long (ENAMETOOLONG)',
}

/** Joins parts into pieces large enough to be worth a write. */
function* inPieces(parts: Iterable<string>): Generator<string, void, void> {
  let piece = ''
  for (const part of parts) {
    piece += part
    if (piece.length < 1 << 16) continue
    yield piece
    piece = ''
  }
  yield piece
}

/** Where a job keeps its ledger. */
export function ledgerFile(jobDir: string): string {
  return join(jobDir, 'spend.jsonl')
}
