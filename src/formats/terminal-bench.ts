import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { UserError } from '../core/errors.ts'
import { exists } from '../lib/files.ts'
import { compareBytes } from '../lib/tree.ts'
import { loadTask } from './harbor-task/load.ts'
import { kindInTask, orUserError } from './harbor-task/read.ts'
import { makeTaskDir } from './harbor-task/save.ts'
import { Converter } from './terminal-bench/converter.ts'

export interface Conversion {
  readonly source: string
  readonly dir: string
  /** What users should check, because Harbor cannot express it. */
  readonly warnings: readonly string[]
}

/** Finds the Terminal-Bench tasks at a path: the directory itself, or its immediate subdirectories with a task.yaml. */
export async function findTerminalBenchTasks(path: string): Promise<string[]> {
  const dir = resolve(path)
  if ((await kindInTask('/', dir)) !== 'dir') {
    throw new UserError(
      `${path}: expected a Terminal-Bench task or a folder of them, found no directory`,
      'check the path',
    )
  }
  if (await exists(join(dir, 'task.yaml'))) return [dir]
  const names = (await orUserError(dir, () => readdir(dir))).sort(compareBytes)
  const tasks: string[] = []
  for (const name of names) {
    const task = join(dir, name)
    if (await orUserError(task, () => exists(join(task, 'task.yaml')))) tasks.push(task)
  }
  if (tasks.length > 0) return tasks
  throw new UserError(
    `${path}: expected a task.yaml here or in an immediate subdirectory, found none`,
    'a Terminal-Bench task has task.yaml, Dockerfile or docker-compose.yaml, run-tests.sh and tests/',
  )
}

/** Converts one Terminal-Bench task to a Harbor task, which appears at `target` whole or not at all. */
export async function convertTerminalBenchTask(source: string, target: string): Promise<Conversion> {
  const warnings: string[] = []
  await makeTaskDir(target, async (temporary) => {
    await new Converter(resolve(source), temporary, warnings).convert()
    await proveLoads(temporary, target)
  })
  return { source, dir: target, warnings }
}

/** Checks that what we wrote loads; if not, the message refers to its final location. */
async function proveLoads(temporary: string, target: string): Promise<void> {
  try {
    await loadTask(temporary)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    throw new UserError(error.message.replaceAll(temporary, target), error.hint)
  }
}
