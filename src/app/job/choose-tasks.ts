import { resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { type DatasetConfig, type JobConfig, noTask } from '../../core/job.ts'
import { taskFileName } from '../../core/task-paths.ts'
import { exists } from '../../lib/files.ts'
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
  const { tasks: path, include, exclude, limit } = request
  const narrows = include !== undefined || exclude !== undefined || limit !== undefined
  const asked = path === undefined ? config : await replaced(config, path, narrows)
  const datasets = asked.datasets.map((dataset) => ({
    ...dataset,
    ...(include && { taskNames: include }),
    ...(exclude && { excludeTaskNames: exclude }),
    ...(limit !== undefined && { nTasks: limit }),
  }))
  return { ...asked, datasets }
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
