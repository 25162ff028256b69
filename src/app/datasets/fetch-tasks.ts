import { rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { BenchmarkSource } from '../../core/benchmark.ts'
import { UserError } from '../../core/errors.ts'
import { taskFileName } from '../../core/task-paths.ts'
import { type ObtainAt, obtainSource, renderSource } from '../../formats/benchmark/obtain.ts'
import { convertTerminalBenchTask } from '../../formats/terminal-bench.ts'
import { exists, namesIn } from '../../lib/files.ts'
import { makeDirWhole } from '../../lib/new-dir.ts'
import { explainDisk } from '../disk-errors.ts'

/**
 * Fetches a place's content into a folder that appears whole or not at all. Terminal-Bench tasks become Harbor tasks.
 */
export async function fetchTasks(
  place: BenchmarkSource,
  out: string,
  at: ObtainAt,
  names: readonly string[] | null = null,
): Promise<void> {
  const fill = async (dir: string) => {
    await obtainSource(place, dir, at)
    if (names !== null) await keepOnly(dir, names, place)
    await convertInPlace(dir)
  }
  await explainDisk(out, () => makeDirWhole(out, fill))
}

async function keepOnly(dir: string, names: readonly string[], place: BenchmarkSource): Promise<void> {
  const wanted = new Set(names)
  const found = await namesIn(dir)
  const missing = names.filter((name) => !found.includes(name))
  if (missing.length > 0)
    throw new UserError(
      `${renderSource(place)}: expected ${names.length} tasks by name, found ${names.length - missing.length} of them`,
      `missing are for example: ${missing.slice(0, 3).join(', ')}`,
    )
  for (const name of found) if (!wanted.has(name)) await rm(join(dir, name), { recursive: true, force: true })
}

/** Converts Terminal-Bench tasks, recognized by a task.yaml without a task.toml. */
async function convertInPlace(dir: string): Promise<void> {
  for (const name of await namesIn(dir)) {
    const task = join(dir, name)
    const isOld = (await exists(join(task, 'task.yaml'))) && !(await exists(join(task, taskFileName)))
    if (!isOld) continue
    const made = join(dir, `.converted-${basename(name)}`)
    await convertTerminalBenchTask(task, made)
    await rm(task, { recursive: true })
    await rename(made, task)
  }
}
