import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { TaskRow } from '../../core/row.ts'
import type { Task } from '../../core/task.ts'
import { findTasks } from '../../formats/harbor-task/find.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import { exists } from '../../lib/files.ts'
import { ArchiveError, extractTar } from '../../lib/tar.ts'
import type { FoundTrial } from './found-trial.ts'

/** Where the tasks of recorded trials may be. */
export interface TaskPlaces {
  /** A folder of tasks given by the user. */
  readonly folder?: string | undefined
  /** Looks up a recipe run's packed tasks by digest. */
  readonly packed?: ((digests: readonly string[]) => Promise<ReadonlyMap<string, TaskRow>>) | undefined
  /** Where packed tasks are unpacked. */
  readonly workDir: string
}

/** Upper limits on a task's files. */
const limits = { limitBytes: 2 ** 30, limitEntries: 50_000, blocking: true } as const

/** Finds the exact task each trial ran on, by digest, or says why there is none. */
export async function findTasksOf(
  trials: readonly FoundTrial[],
  { folder, packed, workDir }: TaskPlaces,
): Promise<(trial: FoundTrial) => Promise<Task | string>> {
  const inFolder = folder === undefined ? null : await tasksIn(folder)
  const digests = [...new Set(trials.flatMap(({ task }) => task.digest ?? []))]
  const rows = (await packed?.(digests)) ?? new Map<string, TaskRow>()
  const unpacked = new Map<string, Task | string>()
  const fromPack = async (digest: string): Promise<Task | string | null> => {
    const row = rows.get(digest)
    if (!row) return null
    const task = unpacked.get(digest) ?? (await unpack(row, join(workDir, 'tasks', String(unpacked.size))))
    unpacked.set(digest, task)
    return task
  }
  return async ({ task }) => {
    const { digest, name, path } = task
    if (digest === null) return inFolder?.byName.get(bare(name)) ?? `its task ${name} has no recorded digest`
    const found = inFolder?.byDigest.get(digest) ?? (await fromPack(digest)) ?? (await atPath(path, digest))
    if (typeof found !== 'string' || !inFolder?.byName.has(bare(name))) return found
    return `its task ${name} changed: expected digest ${short(digest)}, ${folder} holds ${short(inFolder.byName.get(bare(name))?.digests.content ?? '')}`
  }
}

async function tasksIn(folder: string) {
  const { tasks } = await findTasks(folder, { allowNoTests: true })
  const loaded: Task[] = []
  for (const dir of tasks) loaded.push(await loadTask(dir, { allowNoTests: true }))
  return {
    byDigest: new Map(loaded.map((task) => [task.digests.content, task])),
    byName: new Map(loaded.map((task) => [bare(task.name), task])),
  }
}

async function atPath(path: string | null, digest: string): Promise<Task | string> {
  if (path === null || !(await exists(path))) return 'its task no longer exists; pass a folder that has it with --tasks'
  try {
    const task = await loadTask(path, { allowNoTests: true })
    if (task.digests.content === digest) return task
    return `its task changed: expected digest ${short(digest)}, ${path} has ${short(task.digests.content)}`
  } catch (error) {
    if (error instanceof UserError) return error.message
    throw error
  }
}

async function unpack({ archive, name, digest }: TaskRow, dir: string): Promise<Task | string> {
  try {
    await extractTar(archive, dir, limits)
    const task = await loadTask(dir, { allowNoTests: true })
    return task.digests.content === digest ? task : `the archive of its task ${name} contains another task`
  } catch (error) {
    if (error instanceof ArchiveError || error instanceof UserError) return `its task ${name}: ${error.message}`
    throw error
  }
}

function bare(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1)
}

function short(digest: string): string {
  return digest.replace(/^sha256:/, '').slice(0, 12)
}
