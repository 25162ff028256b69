import { resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { type DatasetConfig, type JobConfig, noTask } from '../../core/job.ts'
import { taskFileName } from '../../core/task-paths.ts'
import { loadBenchmarks } from '../../formats/known-benchmarks.ts'
import { exists, kindAt } from '../../lib/files.ts'
import type { TasksRequest } from './tasks-request.ts'

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
  const asked = await withTasks(config, { path, dataset }, request, narrows)
  const datasets = asked.datasets.map((dataset) => ({
    ...dataset,
    ...(include && { taskNames: include }),
    ...(exclude && { excludeTaskNames: exclude }),
    ...(limit !== undefined && { nTasks: limit }),
  }))
  return { ...asked, datasets }
}

async function withTasks(
  config: JobConfig,
  { path, dataset }: { readonly path: string | undefined; readonly dataset: string | undefined },
  request: TasksRequest,
  narrows: boolean,
): Promise<JobConfig> {
  const { git } = request
  const [registryPath, registryUrl] = [request.registryPath ?? null, request.registryUrl ?? null]
  if (git !== undefined) {
    if (path === undefined)
      throw new UserError('expected the path of a task in the git repository, got none', 'name it with -p')
    const task = { ...noTask, path, gitUrl: git.url, gitCommitId: git.commit ?? null }
    return { ...config, datasets: [], tasks: [task] }
  }
  const isPath = dataset !== undefined && !(await isBenchmark(dataset)) && (await kindAt(dataset)) !== 'none'
  const here = path ?? (isPath ? dataset : undefined)
  if (here !== undefined && registryPath === null && registryUrl === null) return replaced(config, here, narrows)
  if (dataset === undefined) {
    if (registryPath ?? registryUrl)
      throw new UserError('expected the name of a dataset in the registry, got none', 'name it with -d')
    return config
  }
  const [, name = dataset, version = null] = /^(?!hf:|harbor:|git:)(.+)@([^@]+)$/s.exec(dataset) ?? []
  return { ...config, tasks: [], datasets: [{ ...noDataset, name, version, registryPath, registryUrl }] }
}

/** The name of a benchmark wins over a folder that happens to have the same; an alias does not. */
async function isBenchmark(name: string): Promise<boolean> {
  return /^[\w.-]+$/.test(name) && (await loadBenchmarks()).some((each) => each.name === name)
}

async function replaced(config: JobConfig, path: string, narrows: boolean): Promise<JobConfig> {
  const isTask = await exists(resolve(path, taskFileName))
  if (!isTask) return { ...config, tasks: [], datasets: [{ ...noDataset, path }] }
  if (narrows)
    throw new UserError(
      `${path}: expected a folder of tasks for -i, -x or -l, got a single task`,
      'leave them out, or name the folder',
    )
  return { ...config, datasets: [], tasks: [{ ...noTask, path }] }
}
