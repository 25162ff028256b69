import { resolve } from 'node:path'
import type { DatasetConfig, JobConfig, TaskConfig } from '../../core/job.ts'
import { taskFileName } from '../../core/task-paths.ts'
import { exists } from '../../lib/files.ts'
import type { RunOptions } from './options.ts'

/** A task of which nothing is said. */
export const noTask: TaskConfig = {
  path: null,
  gitUrl: null,
  gitCommitId: null,
  name: null,
  ref: null,
  overwrite: false,
  downloadDir: null,
  source: null,
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

/** `-p` replaces the job file's tasks and datasets; `-i`, `-x` and `-l` narrow every dataset. */
export async function withTaskOptions(config: JobConfig, options: RunOptions): Promise<JobConfig> {
  const asked = options.path === undefined ? config : await replaced(config, options.path)
  const datasets = asked.datasets.map((dataset) => ({
    ...dataset,
    ...(options.includeTaskName && { taskNames: options.includeTaskName }),
    ...(options.excludeTaskName && { excludeTaskNames: options.excludeTaskName }),
    ...(options.nTasks !== undefined && { nTasks: options.nTasks }),
  }))
  return { ...asked, datasets }
}

async function replaced(config: JobConfig, path: string): Promise<JobConfig> {
  const isTask = await exists(resolve(path, taskFileName))
  return isTask
    ? { ...config, datasets: [], tasks: [{ ...noTask, path }] }
    : { ...config, tasks: [], datasets: [{ ...noDataset, path }] }
}
