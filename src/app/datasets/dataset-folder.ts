import { basename, join, posix, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { DatasetConfig, TaskConfig } from '../../core/job.ts'
import { parseSource } from '../../formats/benchmark/obtain.ts'
import { matchGlob, parseGlob } from '../../formats/harbor-task/glob.ts'
import { digestFiles, inputFiles, packedTaskFiles } from '../../formats/input-files.ts'
import { findBenchmark, loadBenchmarks } from '../../formats/known-benchmarks.ts'
import { unpackTasks } from '../../formats/task-parquet/unpack-tasks.ts'
import { kindAt } from '../../lib/files.ts'
import { nearest } from '../../lib/nearest.ts'
import { AlreadyThere, makeDirWhole } from '../../lib/new-dir.ts'
import { isGlob } from '../../lib/path-glob.ts'
import { explainDisk } from '../disk-errors.ts'
import {
  benchmarkTasks,
  cachedTasksDir,
  type FetchAt,
  placeTasks,
  shortName,
  type TaskFolder,
} from './benchmark-tasks.ts'
import { fetchTasks } from './fetch-tasks.ts'

/** The folder with the tasks of a dataset: a path, a parquet file of tasks, a benchmark by name, or a place such as `hf:org/name`. */
export async function datasetFolder(dataset: DatasetConfig, at: FetchAt): Promise<TaskFolder> {
  const { path, name, version, ref } = dataset
  if (path !== null) {
    const dir = (await isPacked(path)) ? await unpacked(path, at) : resolve(path)
    return { dir, source: nameOf(path), names: null }
  }
  const { downloadDir } = dataset
  if (downloadDir !== null && (await kindAt(downloadDir)) === 'dir')
    return { dir: resolve(downloadDir), source: shortName(name ?? ''), names: null }
  const asked = [name, version ?? ref].filter((part) => part !== null).join('@')
  const registry = dataset.registryPath ?? dataset.registryUrl
  if (registry !== null) {
    const harbor = asked.replace(/^harbor:/, '')
    return placeTasks(
      { kind: 'harbor', name: harbor, registry: dataset.registryPath ? resolve(registry) : registry },
      at,
    )
  }
  if (/^(hf|harbor|git):./.test(asked)) return placeTasks(parseSource(asked, undefined), at)
  const all = await loadBenchmarks()
  const benchmark = findBenchmark(all, asked)
  if (benchmark) return benchmarkTasks(benchmark, all, at)
  const near = nearest(
    asked,
    all.flatMap((each) => [each.name, ...each.aliases]),
  )
  throw new UserError(
    `${asked.slice(0, 200)}: expected a folder of tasks or the name of a benchmark, found neither`,
    near === null
      ? 'benchmarks list shows the known ones; other datasets are hf:org/name, harbor:name@version or git:URL#path'
      : `did you mean ${near}?`,
  )
}

/** The dataset with the absolute place of its tasks, so that a job finds them from any directory. */
export async function locateDataset(dataset: DatasetConfig, at: FetchAt): Promise<DatasetConfig> {
  if (dataset.name === null) return dataset
  const { dir, source, names } = await datasetFolder(dataset, at)
  const isBenchmark = shortName(dataset.name) !== source
  return {
    ...dataset,
    ...(isBenchmark && { name: source, version: null }),
    registryPath: dataset.registryPath === null ? null : resolve(dataset.registryPath),
    downloadDir: resolve(dir),
    ...(names !== null && { taskNames: names.filter((each) => isNamed(each, dataset.taskNames)) }),
  }
}

function isNamed(name: string, globs: readonly string[] | null): boolean {
  return globs === null || globs.map(parseGlob).some((glob) => glob !== null && matchGlob(glob, [...name]))
}

/** The directory of a task: its path, or a copy fetched from a git repository. */
export async function taskFolder(task: TaskConfig, at: FetchAt): Promise<string> {
  const { path, gitUrl, gitCommitId, name } = task
  if (path !== null && gitUrl === null && name === null) return resolve(path)
  if (path === null || gitUrl === null)
    throw new UserError(
      `tasks: expected a path or a git repository, got the package ${JSON.stringify(name)} of Harbor's hub`,
      'download it first, then write tasks: [{path: DIR}], or -p DIR',
    )
  const place = { kind: 'git', name: gitUrl, path: posix.normalize(path), revision: gitCommitId ?? undefined } as const
  const dir = join(cachedTasksDir(basename(path), place), basename(path))
  if ((await kindAt(dir)) === 'dir') return dir
  if (!at.fetch)
    throw new UserError(`the task ${path} of ${gitUrl} is not on this machine`, 'add --fetch to fetch it', 3)
  at.notify(`fetching the task ${path} from ${gitUrl}`)
  await fetchTasks(place, dir, { env: process.env, signal: at.signal }).catch(ignoreAlreadyThere)
  return dir
}

/** Whether a path is a parquet file of tasks, or a glob for such files. */
async function isPacked(path: string): Promise<boolean> {
  if (!path.endsWith('.parquet')) return false
  const kind = await kindAt(path)
  return kind === 'file' || (kind === 'none' && isGlob(path))
}

/** A glob is named after its folder. */
function nameOf(path: string): string {
  return isGlob(basename(path)) ? basename(resolve(path, '..')) : basename(path, '.parquet')
}

/** Unpacks the tasks of parquet files, once per content. */
async function unpacked(file: string, { signal, notify }: FetchAt): Promise<string> {
  const files = await inputFiles(file, packedTaskFiles)
  const dir = cachedTasksDir(nameOf(file), await explainDisk(file, () => digestFiles(files, signal)))
  if ((await kindAt(dir)) === 'dir') return dir
  const unpack = async (temporary: string) => {
    const { unpacked: tasks } = await unpackTasks(file, temporary, { signal })
    notify(`${tasks} tasks of ${file} were unpacked to ${dir}`)
  }
  await explainDisk(dir, () => makeDirWhole(dir, unpack)).catch(ignoreAlreadyThere)
  return dir
}

function ignoreAlreadyThere(error: unknown): void {
  if (!(error instanceof AlreadyThere)) throw error
}
