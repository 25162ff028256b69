import { resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { type DatasetConfig, type JobConfig, noTask } from '../../core/job.ts'
import { taskFileName } from '../../core/task-paths.ts'
import { exists } from '../../lib/files.ts'
import type { RunOptions } from './options.ts'

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

/** `-p` replaces the job file's tasks and datasets; `-i`, `-x` and `-l` narrow every dataset. */
export async function withTaskOptions(config: JobConfig, options: RunOptions): Promise<JobConfig> {
  const { includeTaskName, excludeTaskName, nTasks } = options
  const narrows = includeTaskName !== undefined || excludeTaskName !== undefined || nTasks !== undefined
  const path = onePath(options)
  const asked = path === undefined ? config : await replaced(config, path, narrows)
  const datasets = asked.datasets.map((dataset) => ({
    ...dataset,
    ...(includeTaskName && { taskNames: includeTaskName }),
    ...(excludeTaskName && { excludeTaskNames: excludeTaskName }),
    ...(nTasks !== undefined && { nTasks }),
  }))
  return { ...asked, datasets }
}

/** `--dataset` is another word for `--path`. */
function onePath({ path, dataset }: RunOptions): string | undefined {
  if (path === undefined || dataset === undefined || path === dataset) return path ?? dataset
  throw new UserError(`expected --path or --dataset, got both: ${path} and ${dataset}`, 'leave one of them out')
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
