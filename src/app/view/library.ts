import { stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { messageOf, UserError } from '../../core/errors.ts'
import type { ViewJobRow } from '../../core/view.ts'
import { kindAt, namesIn, readTextIfExists } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { type JobDir, loadJobDir } from '../../store/job-dir.ts'
import { jobRowOf } from '../jobs/list-jobs.ts'
import { DataShelf } from './dataset-shelf.ts'
import { JobIndex } from './job-index.ts'
import { type LibraryJob, type LibraryJobs, NotHere } from './library-job.ts'
import { OpenTrials } from './open-trials.ts'
import { JobTasks } from './tasks/job-task.ts'
import { TaskShelf } from './tasks/task-shelf.ts'
import { TaskTrials } from './tasks/task-trials.ts'

interface Known {
  readonly stamp: string
  readonly there: JobDir
  index: JobIndex | null
  state: ViewJobRow['state'] | null
}

/**
 * Everything the viewer shows: the jobs, datasets and tasks under some paths. Reads lazily, and rereads only what
 * changed.
 */
export class Library implements LibraryJobs {
  readonly trials = new OpenTrials()
  /** The trials of each task, and where jobs' tasks are. */
  readonly taskTrials = new TaskTrials(this)
  readonly jobTasks = new JobTasks(this, this.trials)
  private readonly known = new Map<string, Known>()

  private constructor(
    /** Directories of jobs. */
    private readonly folders: readonly string[],
    private readonly single: string[],
    /** Datasets and recipe runs. */
    readonly data: DataShelf,
    /** Folders and packs of tasks. */
    readonly tasks: TaskShelf,
  ) {}

  /** Paths may be jobs, directories of jobs, trials, datasets, recipe runs, tasks, and folders or packs of tasks. */
  static async open(paths: readonly string[]): Promise<{ library: Library; start: string }> {
    const folders: string[] = []
    const single: string[] = []
    const { shelf: tasks, rest: others, start: ofTasks } = await TaskShelf.open(paths)
    const { shelf, rest, start: data } = await DataShelf.open(others)
    let start = data === '' ? ofTasks : data
    for (const path of rest.map((given) => resolve(given))) {
      const kind = await kindOf(path)
      if (kind === 'folder') folders.push(path)
      if (kind === 'job') single.push(path)
      if (kind === 'trial') {
        single.push(dirname(path))
        start = `#/jobs/${encodeURIComponent(basename(dirname(path)))}/trials/${encodeURIComponent(basename(path))}`
      }
    }
    if (start === '' && folders.length === 0 && single.length === 1 && single[0] !== undefined)
      start = `#/jobs/${encodeURIComponent(basename(single[0]))}`
    return { library: new Library(folders, single, shelf, tasks), start }
  }

  /** Adds a recipe run that has finished in the meantime, with its jobs. */
  async include(run: string): Promise<void> {
    const jobs = await this.data.include(run)
    this.single.push(...jobs.filter((dir) => !this.single.includes(dir)))
  }

  async jobs(): Promise<{ rows: ViewJobRow[]; broken: { name: string; why: string }[] }> {
    const rows: ViewJobRow[] = []
    const broken: { name: string; why: string }[] = []
    for (const [id, dir] of await this.ids()) {
      try {
        rows.push(await this.rowOf(id, await this.knownAt(dir)))
      } catch (error) {
        if (!(error instanceof UserError)) throw error
        broken.push({ name: basename(dir), why: messageOf(error) })
      }
    }
    return { rows, broken }
  }

  /** Finds a job by id. Waits at most `waitMs` for its trials. */
  async job(id: string, waitMs = 300): Promise<LibraryJob> {
    const dir = (await this.ids()).get(id)
    if (dir === undefined) throw new NotHere(`there is no job ${JSON.stringify(id)}`)
    const known = await this.knownAt(dir)
    const row = await this.rowOf(id, known)
    // A rerun job may have withdrawn records.
    if (known.state !== null && known.state !== row.state && row.state === 'running') known.index = null
    known.state = row.state
    const isNew = known.index === null
    known.index ??= new JobIndex(known.there)
    const { index } = known
    if (isNew || !index.complete || row.state === 'running' || row.state === 'unknown') await index.refresh(waitMs)
    return { id, there: known.there, row, index }
  }

  /** What a job's files say, without its trials. */
  async jobDir(id: string): Promise<JobDir> {
    const dir = (await this.ids()).get(id)
    if (dir === undefined) throw new NotHere(`there is no job ${JSON.stringify(id)}`)
    return (await this.knownAt(dir)).there
  }

  /** Directories whose jobs are all shown, including new ones. */
  get jobsDirs(): readonly string[] {
    return this.folders
  }

  /** Whether any path is for jobs. */
  get hasJobs(): boolean {
    return this.folders.length + this.single.length > 0
  }

  /** Job ids by directory. */
  async idsByDir(): Promise<ReadonlyMap<string, string>> {
    return new Map([...(await this.ids())].map(([id, dir]) => [dir, id]))
  }

  async close(): Promise<void> {
    await this.trials.close()
    await this.data.close()
    await this.tasks.close()
  }

  private async rowOf(id: string, { there }: Known): Promise<ViewJobRow> {
    const { agents } = there.config
    const names = (values: readonly (string | null)[]) => [...new Set(values.filter((value) => value !== null))]
    return {
      ...(await jobRowOf(there)),
      id,
      agents: names(agents.map(({ name, importPath }) => name ?? importPath)),
      models: names(agents.map(({ modelName }) => modelName)),
    }
  }

  /** Job directories by id: the name, with a number if two share it. */
  private async ids(): Promise<Map<string, string>> {
    const inFolders = await Promise.all(this.folders.map(jobDirsIn))
    const ids = new Map<string, string>()
    for (const dir of new Set([...this.single, ...inFolders.flat()])) {
      const name = basename(dir)
      let id = name
      for (let n = 2; ids.has(id); n++) id = `${name}~${n}`
      ids.set(id, dir)
    }
    return ids
  }

  private async knownAt(dir: string): Promise<Known> {
    const stamp = await stampOf(dir)
    const before = this.known.get(dir)
    if (before?.stamp === stamp) return before
    const there = await loadJobDir(dir)
    // A growing job keeps its index; one whose layout changed does not.
    const kept = before?.there.layout === there.layout && before.there.own?.id === there.own?.id
    const known = { stamp, there, index: kept ? before.index : null, state: kept ? before.state : null }
    this.known.set(dir, known)
    if (before && known.index?.complete)
      // Errors are reported when the job is opened.
      known.index.refresh(0).catch(() => {})
    return known
  }
}

/** Changes whenever a file changes that a job's row is read from. */
async function stampOf(dir: string): Promise<string> {
  const files = await Promise.all(
    ['config.json', 'job.json', 'result.json'].map((name) => stat(join(dir, name)).catch(() => null)),
  )
  return files.map((file) => (file ? `${file.ino} ${file.size} ${file.mtimeMs}` : '-')).join(', ')
}

async function jobDirsIn(folder: string): Promise<string[]> {
  const names = await namesIn(folder)
  const kinds = await Promise.all(
    names
      .filter((name) => !name.startsWith('.'))
      .map(async (name) => [name, await configOf(join(folder, name))] as const),
  )
  return kinds.flatMap(([name, kind]) => (kind === 'job' ? [join(folder, name)] : [])).sort()
}

async function kindOf(path: string): Promise<'folder' | 'job' | 'trial'> {
  const kind = await kindAt(path)
  if (kind !== 'dir')
    throw new UserError(
      `${path}: expected a job, a directory of jobs, a folder of tasks, a dataset or a run of a recipe, got ${kind === 'none' ? 'nothing there' : 'a file'}`,
      'pass the --jobs-dir of a run, one job in it, or a .parquet or .jsonl file',
    )
  const config = await configOf(path)
  if (config !== 'trial') return config ?? 'folder'
  if ((await configOf(dirname(path))) === 'job') return 'trial'
  throw new UserError(`${path}: this trial is not part of a job`, 'pass the directory of a job')
}

const configs = new Map<string, { stamp: string; kind: 'job' | 'trial' | null }>()

/** Whether a directory holds the config of a job or trial; reread only if the file changed. */
async function configOf(dir: string): Promise<'job' | 'trial' | null> {
  const path = join(dir, 'config.json')
  const stats = await stat(path).catch(() => null)
  if (!stats?.isFile()) return null
  const stamp = `${stats.ino} ${stats.size} ${stats.mtimeMs}`
  const before = configs.get(path)
  if (before?.stamp === stamp) return before.kind
  const document = parseJson((await readTextIfExists(path)) ?? '')
  const isObject = typeof document === 'object' && document !== null
  const kind = isObject && 'trial_name' in document ? 'trial' : isObject ? 'job' : null
  configs.set(path, { stamp, kind })
  return kind
}
