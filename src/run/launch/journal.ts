import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Cluster } from '../../core/cluster.ts'
import { UserError } from '../../core/errors.ts'
import { jobTypes, type Launch, type Submission } from '../../core/launch.ts'
import { isMissing, readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { openJsonLines, readJsonLines } from '../../lib/jsonl.ts'
import { parseJson } from '../../lib/parse-json.ts'
import type { Setting } from './settings.ts'

const resources = z.strictObject({
  nodes: z.number(),
  gpusPerNode: z.number(),
  cpusPerNode: z.number().nullable(),
  memoryGb: z.number().nullable(),
  timeLimit: z.string(),
})
const job = z.strictObject({
  name: z.string(),
  jobName: z.string(),
  summary: z.string(),
  place: z.enum(['internet', 'login']).nullable().default(null),
  resources,
  after: z.array(z.strictObject({ job: z.string(), when: z.enum(['ok', 'started']) })),
  array: z.strictObject({ size: z.number(), throttle: z.number() }).nullable(),
  restarts: z.number(),
  stopSec: z.number(),
})
const schema = z.strictObject({
  schema: z.literal('launch/1'),
  id: z.string(),
  jobType: z.enum(jobTypes),
  createdAt: z.string(),
  scheduler: z.string(),
  cluster: z.looseObject({ name: z.string() }),
  dependency: z.string().nullable(),
  /** Always empty, and no longer written. */
  overrides: z.looseObject({}).optional(),
  command: z.array(z.string()),
  settings: z.array(z.strictObject({ name: z.string(), value: z.unknown(), origin: z.string() })),
  files: z.array(z.string()),
  jobs: z.array(job),
})

const submissionSchema = z.strictObject({
  job: z.string(),
  link: z.number(),
  id: z.string(),
  tasks: z.array(z.number()).nullable(),
  at: z.string(),
})

/** What is known about a stored launch. */
export interface StoredLaunch {
  readonly launch: Launch
  readonly scheduler: string
  readonly createdAt: string
  readonly command: readonly string[]
  readonly settings: readonly Setting[]
  readonly submissions: readonly Submission[]
  readonly dir: string
}

/** Facts about a launch that are kept next to the plan. */
export interface LaunchFacts {
  readonly createdAt: string
  readonly scheduler: string
  /** Without secrets. */
  readonly command: readonly string[]
  readonly settings: readonly Setting[]
}

/** Where a launch is stored. */
export function launchDir(experimentsDir: string, id: string): string {
  return join(experimentsDir, 'launches', id)
}

export function scriptPath({ experimentsDir, id }: Pick<Launch, 'experimentsDir' | 'id'>, job: string): string {
  return join(experimentsDir, 'sbatch_scripts', id, `${job}.sbatch`)
}

/** Writes scripts, configs and the plan; the plan comes last, so a launch that has one is complete. */
export async function saveLaunch(
  launch: Launch,
  scripts: ReadonlyMap<string, string>,
  facts: LaunchFacts,
): Promise<void> {
  const { experimentsDir, id } = launch
  for (const dir of ['logs', 'configs', 'outputs']) await mkdir(join(experimentsDir, dir), { recursive: true })
  await mkdir(join(launchDir(experimentsDir, id), 'marks'), { recursive: true })
  for (const [path, text] of Object.entries(launch.files)) await writeAtomic(join(experimentsDir, path), text)
  for (const [name, text] of scripts) await writeAtomic(scriptPath(launch, name), text, 0o755)
  const document: z.output<typeof schema> = {
    schema: 'launch/1',
    id,
    jobType: launch.jobType,
    createdAt: facts.createdAt,
    scheduler: facts.scheduler,
    cluster: { ...launch.cluster },
    dependency: launch.dependency,
    command: [...facts.command],
    settings: facts.settings.map((setting) => ({ ...setting })),
    files: Object.keys(launch.files),
    jobs: launch.jobs.map(({ script: _script, ...rest }) => ({
      ...rest,
      after: rest.after.map((each) => ({ ...each })),
      array: rest.array && { ...rest.array },
      resources: { ...rest.resources },
    })),
  }
  await writeAtomic(join(launchDir(experimentsDir, id), 'launch.json'), `${JSON.stringify(document, null, 2)}\n`)
}

/** Loads a launch; its scripts stay on disk. */
export async function loadLaunch(experimentsDir: string, id: string): Promise<StoredLaunch> {
  const dir = launchDir(experimentsDir, id)
  const path = join(dir, 'launch.json')
  const text = await readTextIfExists(path)
  if (text === null)
    throw new UserError(
      `expected a launch ${JSON.stringify(id)} in ${experimentsDir}, found none`,
      'ot-agent launch list shows them',
    )
  const parsed = schema.safeParse(parseJson(text))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const at = issue?.path.join('.') || 'the document'
    throw new UserError(`${path}: ${at}: ${issue?.message}`, 'another version wrote it, or it is damaged')
  }
  const { jobs, files: _files, cluster, overrides: _overrides, ...rest } = parsed.data
  const launch: Launch = {
    id,
    jobType: rest.jobType,
    // It was a valid cluster when it was written, and only the code that wrote it reads it.
    cluster: cluster as unknown as Cluster,
    experimentsDir,
    jobs: jobs.map((each) => ({ ...each, script: [] })),
    files: {},
    dependency: rest.dependency,
  }
  const { scheduler, createdAt, command, settings } = rest
  return { launch, scheduler, createdAt, command, settings, submissions: await loadSubmissions(dir), dir }
}

async function loadSubmissions(dir: string): Promise<Submission[]> {
  const found: Submission[] = []
  try {
    for await (const line of readJsonLines(join(dir, 'submitted.jsonl'))) {
      const parsed = submissionSchema.safeParse(line)
      if (parsed.success) found.push(parsed.data)
    }
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  return found
}

/** Records a submission before anything else is done. */
export async function addSubmission(dir: string, submission: Submission, at: string): Promise<void> {
  const lines = await openJsonLines(join(dir, 'submitted.jsonl'))
  try {
    lines.append({ ...submission, at })
  } finally {
    await lines.close()
  }
}

/** The launches of an experiments directory, oldest first. */
export async function listLaunches(experimentsDir: string): Promise<readonly string[]> {
  try {
    const names = await readdir(join(experimentsDir, 'launches'))
    const found = await Promise.all(
      names.map(async (name) => {
        const text = await readTextIfExists(join(launchDir(experimentsDir, name), 'launch.json'))
        return text === null ? null : { name, createdAt: String(Object(parseJson(text)).createdAt ?? '') }
      }),
    )
    return found
      .filter((each) => each !== null)
      .sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
      .map(({ name }) => name)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** One mark of a unit of work. */
export interface Mark {
  readonly kind: 'claim' | 'end' | 'done'
  readonly text: string
}

/** All marks that a launch's jobs have left, by unit. */
export async function readMarks(dir: string): Promise<ReadonlyMap<string, readonly Mark[]>> {
  const marks = new Map<string, Mark[]>()
  const names = await readdir(join(dir, 'marks')).catch(() => [])
  for (const name of names) {
    const [, unit = '', kind = ''] = /^([^.].*)\.(claim|end|done)$/.exec(name) ?? []
    if (kind !== 'claim' && kind !== 'end' && kind !== 'done') continue
    // A mark may disappear while we read.
    const text = await readFile(join(dir, 'marks', name), 'utf8').catch(() => '')
    marks.set(unit, [...(marks.get(unit) ?? []), { kind, text: text.trim() }])
  }
  return marks
}

/** Clears how units ended before they are submitted again. */
export async function clearEnds(dir: string, units: readonly string[]): Promise<void> {
  for (const unit of units) await rm(join(dir, 'marks', `${unit}.end`), { force: true })
}
