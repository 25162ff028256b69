import { basename, resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { UserError } from '../../core/errors.ts'
import { type DatasetConfig, type JobConfig, noTask, type TaskConfig } from '../../core/job.ts'
import type { NamedTask, Task } from '../../core/task.ts'
import { taskFileName } from '../../core/task-paths.ts'
import { matchGlob, parseGlob } from '../../formats/harbor-task/glob.ts'
import { listTaskDirs } from '../../formats/harbor-task/list.ts'
import { exists, kindAt } from '../../lib/files.ts'
import type { JobTask } from '../../run/job/plan.ts'
import type { TaskIndex } from '../../store/task-index.ts'
import type { FetchAt } from '../datasets/benchmark-tasks.ts'
import type { TasksRequest } from './tasks-request.ts'

/** How many tasks are read at once: enough to keep a disk busy, few enough for file descriptors. */
const loadsAtOnce = 16

/** Outside this range, all tasks are read every time. */
const indexed = { from: 100, to: 20_000 }
const taskIndexOf = async (jobDir: string, settleMs?: number) =>
  (await import('../../store/task-index.ts')).TaskIndex.of(jobDir, settleMs)

interface Reading extends Pick<TasksRequest, 'share'> {
  /** The job's directory, if it exists: it may know the digests of many tasks. */
  readonly jobDir?: string | null
  /** Shortened by tests. */
  readonly settleMs?: number
}

/** The tasks of a job, in the job's order. */
export interface ResolvedTasks {
  /** Already read, unless there are many and none has changed since an earlier run. */
  readonly tasks: readonly JobTask<NamedTask>[]
  /** Reads the remaining tasks; throws the first error in one of them. */
  readonly loadTasks: () => Promise<readonly JobTask[]>
}

/**
 * Finds every task of a job. If an earlier run read the tasks and none has changed, they are read when needed;
 * otherwise all are read now, and the first error in one of them is thrown. When several processes share a job, each
 * reads its own tasks and only checks that the others exist.
 */
export async function resolveTasks(
  config: JobConfig,
  at: FetchAt = here,
  { share = { index: 0, of: 1 }, jobDir = null, settleMs }: Reading = {},
): Promise<ResolvedTasks> {
  const wanted = await findWanted(config, at)
  const own = wanted.filter((_, i) => i % share.of === share.index)
  const dirs = [...new Set(own.map(({ dir }) => dir))]
  const isIndexed = dirs.length >= indexed.from && dirs.length <= indexed.to
  const index = isIndexed && jobDir !== null ? await taskIndexOf(jobDir, settleMs) : null
  const known = index && (await knownTasks(dirs, index))
  let loading: Promise<readonly JobTask[]> | undefined
  const loadTasks = () => {
    loading ??= loadAll(own, index, config.verifier.disable)
    return loading
  }
  return { tasks: known ? inOrder(own, known) : await loadTasks(), loadTasks }
}

/** A task as a job requests it. */
interface Wanted {
  readonly dir: string
  readonly config: TaskConfig
  /** True for a task found in a folder and not yet inspected. */
  readonly found?: boolean
}

async function findWanted(config: JobConfig, at: FetchAt): Promise<readonly Wanted[]> {
  const wanted: Wanted[] = []
  for (const task of config.tasks)
    wanted.push({ config: { ...task, gitUrl: null, gitCommitId: null }, dir: await folderOfTask(task, at) })
  for (const dataset of config.datasets) wanted.push(...(await tasksOfDataset(dataset, at)))
  if (wanted.length > 0) return wanted
  throw new UserError(
    'expected tasks to run, got none',
    'pass a task or a folder of tasks with -p, or list them in the job file',
  )
}

/** Null if any of them must be read. */
async function knownTasks(dirs: readonly string[], index: TaskIndex): Promise<ReadonlyMap<string, NamedTask> | null> {
  const known = new Map<string, NamedTask>()
  for (const dir of dirs) {
    const task = index.known(dir)
    if (task === null) return null
    known.set(dir, task)
    // Yields now and then: there may be twenty thousand tasks, and each costs a system call per file.
    if (known.size % knownAtOnce === 0) await setImmediate()
  }
  return known
}

const knownAtOnce = 200

async function loadAll(
  own: readonly Wanted[],
  index: TaskIndex | null,
  allowNoTests: boolean,
): Promise<readonly JobTask[]> {
  // A finished job with known tasks needs neither this nor the reader of task.toml.
  const { loadTask } = await import('../../formats/harbor-task/load.ts')
  const load = (dir: string) =>
    index
      ? index.read(dir, (digest) => loadTask(dir, { allowNoTests, ...(digest && { digest }) }))
      : loadTask(dir, { allowNoTests })
  const loaded = await loadEach(new Set(own.map(({ dir }) => dir)), load).catch(async (error: unknown) => {
    const { whyBroken } = await import('../../formats/harbor-task/find.ts')
    for (const { dir, found } of own) {
      const reason = found ? await whyBroken(dir, { allowNoTests }) : null
      if (reason !== null) throw brokenTask({ dir, reason })
    }
    throw error
  })
  await index?.save()
  return inOrder(own, loaded)
}

function inOrder<T extends NamedTask>(own: readonly Wanted[], tasks: ReadonlyMap<string, T>): JobTask<T>[] {
  return own.flatMap(({ dir, config }) => {
    const task = tasks.get(dir)
    return task ? [{ task, config: { ...config, path: dir } }] : []
  })
}

/** Fetches nothing. */
const here: FetchAt = { fetch: false, notify: () => {}, signal: new AbortController().signal }

/** The code that finds and fetches tasks by name loads only if a job names some. */
const fetching = () => import('../datasets/dataset-folder.ts')

async function folderOfTask(task: TaskConfig, at: FetchAt): Promise<string> {
  const { path, gitUrl, name } = task
  if (path !== null && gitUrl === null && name === null) return resolve(path)
  return (await fetching()).taskFolder(task, at)
}

async function folderOfDataset(dataset: DatasetConfig, at: FetchAt) {
  const { path } = dataset
  if (path !== null && !path.endsWith('.parquet')) return { dir: resolve(path), source: basename(path), names: null }
  return (await fetching()).datasetFolder(dataset, at)
}

/** Only the tasks left by the dataset's filters must be valid. */
async function tasksOfDataset(dataset: DatasetConfig, at: FetchAt) {
  const { dir: folder, source, names } = await folderOfDataset(dataset, at)
  const all = [...(await listTaskDirs(folder))].sort()
  const named = names && new Set(names)
  const chosen = select(named === null ? all : all.filter((dir) => named.has(basename(dir))), dataset)
  if (chosen.length === 0) throw noneLeft(dataset, all)
  return chosen.map((dir) => ({ dir, config: { ...noTask, source }, found: dir !== folder }))
}

function brokenTask({ dir, reason }: { readonly dir: string; readonly reason: string }): UserError {
  const message = reason.startsWith(dir) ? reason : `${dir}: expected a complete task: ${reason}`
  return new UserError(message, `fix it, or skip it with -x ${basename(dir)}`)
}

function select(dirs: readonly string[], { taskNames, excludeTaskNames, nTasks }: DatasetConfig): readonly string[] {
  const chosen = dirs.filter((dir) => {
    const name = basename(dir)
    return (
      (taskNames?.some((glob) => matches(glob, name)) ?? true) && !excludeTaskNames?.some((glob) => matches(glob, name))
    )
  })
  return nTasks === null ? chosen : chosen.slice(0, nTasks)
}

function matches(glob: string, name: string): boolean {
  const tokens = parseGlob(glob)
  return tokens !== null && matchGlob(tokens, [...name])
}

async function loadEach(
  dirs: ReadonlySet<string>,
  load: (dir: string) => Promise<Task>,
): Promise<ReadonlyMap<string, Task>> {
  const loaded = new Map<string, Task>()
  const rest = dirs.values()
  const work = async () => {
    for (const dir of rest) loaded.set(dir, await load(dir))
  }
  await Promise.all(Array.from({ length: loadsAtOnce }, work))
  return loaded
}

function noneLeft({ path, name, taskNames, excludeTaskNames }: DatasetConfig, tasks: readonly string[]): UserError {
  const filters = [
    ...(taskNames ?? []).map((glob) => `-i ${glob}`),
    ...(excludeTaskNames ?? []).map((glob) => `-x ${glob}`),
  ]
  const some = tasks
    .slice(0, 5)
    .map((dir) => basename(dir))
    .join(', ')
  return new UserError(
    `${path ?? name}: expected tasks to match ${filters.join(' ')}, but none of ${tasks.length} did`,
    `tasks are for example: ${some}`,
  )
}

const noDataset: DatasetConfig = {
  path: null,
  name: null,
  version: null,
  ref: null,
  registryUrl: null,
  registryPath: null,
  overwrite: false,
  downloadDir: null,
  taskNames: null,
  excludeTaskNames: null,
  nTasks: null,
}

/** The tasks of the request replace those of the job file; its filters narrow every folder of tasks. */
export async function chooseTasks(config: JobConfig, request: TasksRequest): Promise<JobConfig> {
  const { tasks: path, dataset, include, exclude, limit } = request
  const narrows = include !== undefined || exclude !== undefined || limit !== undefined
  const asked = await askedOf(config, { path, dataset }, request, narrows)
  const datasets = asked.datasets.map((dataset) => ({
    ...dataset,
    ...(include && { taskNames: include }),
    ...(exclude && { excludeTaskNames: exclude }),
    ...(limit !== undefined && { nTasks: limit }),
  }))
  return { ...asked, datasets }
}

async function askedOf(
  config: JobConfig,
  { path, dataset }: { readonly path: string | undefined; readonly dataset: string | undefined },
  request: TasksRequest,
  narrows: boolean,
): Promise<JobConfig> {
  const { git } = request
  const [registryPath, registryUrl] = [request.registryPath ?? null, request.registryUrl ?? null]
  if (git !== undefined) {
    if (path === undefined)
      throw new UserError('expected the path of a task in the git repository, got none', 'pass it with -p')
    const task = { ...noTask, path, gitUrl: git.url, gitCommitId: git.commit ?? null }
    return { ...config, datasets: [], tasks: [task] }
  }
  const isPath = dataset !== undefined && !(await isBenchmark(dataset)) && (await isHere(dataset))
  const here = path ?? (isPath ? dataset : undefined)
  if (here !== undefined && registryPath === null && registryUrl === null) return replaced(config, here, narrows)
  if (dataset === undefined) {
    if (registryPath ?? registryUrl)
      throw new UserError('expected the name of a dataset in the registry, got none', 'pass it with -d')
    return config
  }
  const [, name = dataset, version = null] = /^(?!hf:|harbor:|git:)(.+)@([^@]+)$/s.exec(dataset) ?? []
  return { ...config, tasks: [], datasets: [{ ...noDataset, name, version, registryPath, registryUrl }] }
}

/** A name with the file extension of packed tasks is a path, or a glob. */
async function isHere(dataset: string): Promise<boolean> {
  return dataset.endsWith('.parquet') ? !/^(hf|harbor|git):/.test(dataset) : (await kindAt(dataset)) !== 'none'
}

/** A benchmark's name takes precedence over a folder of that name; an alias does not. */
async function isBenchmark(name: string): Promise<boolean> {
  if (!/^[\w.-]+$/.test(name)) return false
  const { loadBenchmarks } = await import('../../formats/known-benchmarks.ts')
  return (await loadBenchmarks()).some((each) => each.name === name)
}

async function replaced(config: JobConfig, path: string, narrows: boolean): Promise<JobConfig> {
  const isTask = await exists(resolve(path, taskFileName))
  if (!isTask) return { ...config, tasks: [], datasets: [{ ...noDataset, path }] }
  if (narrows)
    throw new UserError(
      `${path}: expected a folder of tasks for -i, -x or -l, got a single task`,
      'remove them, or pass the folder',
    )
  return { ...config, datasets: [], tasks: [{ ...noTask, path }] }
}
