import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { environmentDir, instructionFile, taskFileName, testsDir } from '../../core/task-paths.ts'
import { expectDir, hasTaskFile, namesOfTasks, noTasks } from './list.ts'
import { parseToml } from './parse.ts'
import { kindInTask, readTaskText } from './read.ts'

export interface FoundTasks {
  /** Directories that look like tasks, sorted by name. Empty only if something is broken. */
  readonly tasks: readonly string[]
  /** Directories that have a task.toml but are not tasks. */
  readonly broken: readonly { readonly dir: string; readonly reason: string }[]
}

export interface FindTasksOptions {
  /** For jobs that do not verify: accepts tasks without tests. */
  readonly allowNoTests?: boolean
}

/**
 * Finds the tasks at a path: the directory itself if it has a task.toml, otherwise its immediate subdirectories that
 * are tasks.
 */
export async function findTasks(path: string, options: FindTasksOptions = {}): Promise<FoundTasks> {
  const dir = await expectDir(path)
  if (await hasTaskFile(dir)) return { tasks: [dir], broken: [] }
  const found = await sortOut(dir, options)
  if (found.tasks.length + found.broken.length === 0) throw noTasks(path)
  return found
}

/** Why a directory with a task.toml is not a task, or null if it is one. */
export async function whyBroken(dir: string, options: FindTasksOptions = {}): Promise<string | null> {
  const verdict = await judge(dir, options)
  return verdict === 'task' ? null : verdict === 'something else' ? `no ${taskFileName}` : verdict.broken
}

async function sortOut(dir: string, options: FindTasksOptions): Promise<FoundTasks> {
  const tasks: string[] = []
  const broken: { dir: string; reason: string }[] = []
  for await (const { dir: task, broken: reason } of walkTasks(dir, options)) {
    if (reason === null) tasks.push(task)
    else broken.push({ dir: task, reason })
  }
  return { tasks, broken }
}

/** Yields the tasks in a directory's immediate subdirectories, sorted by name; `broken` says why one is not a task. */
export async function* walkTasks(
  dir: string,
  options: FindTasksOptions = {},
): AsyncGenerator<{ readonly dir: string; readonly broken: string | null }, void, void> {
  for (const name of await namesOfTasks(dir)) {
    const task = join(dir, name)
    const verdict = await judge(task, options)
    if (verdict === 'task') yield { dir: task, broken: null }
    else if (verdict !== 'something else') yield { dir: task, broken: verdict.broken }
  }
}

async function judge(dir: string, options: FindTasksOptions): Promise<'task' | 'something else' | { broken: string }> {
  try {
    if (!(await hasTaskFile(dir))) return 'something else'
    const missing = await missingPart(dir, options)
    return missing === null ? 'task' : { broken: `no ${missing}` }
  } catch (error) {
    if (error instanceof UserError) return { broken: error.message }
    throw error
  }
}

/** What a directory with a task.toml lacks to be a task by Harbor's rule, or null. */
async function missingPart(dir: string, options: FindTasksOptions): Promise<string | null> {
  const isThere = async (path: string) => (await kindInTask(dir, path)) !== null
  const task = await peek(dir)
  if (!task.hasImage && !(await isThere(environmentDir(dir)))) return 'environment/'
  if (task.hasSteps && (await isThere(join(dir, 'steps')))) return null
  if (!(await isThere(instructionFile(dir)))) return task.hasSteps ? 'steps/' : 'instruction.md'
  if (options.allowNoTests || task.hasVerifierImage) return null
  const ways = await Promise.all(waysToTest.map((name) => isThere(join(testsDir(dir), name))))
  return ways.includes(true) ? null : 'tests/test.sh'
}

/** A script, or the build files of a separate verifier's image. */
const waysToTest = ['test.sh', 'test.bat', 'Dockerfile', 'docker-compose.yaml']

/** The parts of task.toml that the rule needs; the rest is checked when the task is loaded. */
async function peek(dir: string): Promise<{ hasSteps: boolean; hasImage: boolean; hasVerifierImage: boolean }> {
  const file = join(dir, taskFileName)
  const { steps, environment, verifier } = parseToml((await readTaskText(dir, file)) ?? '', file)
  return {
    hasSteps: Array.isArray(steps) && steps.length > 0,
    hasImage: Boolean(keyIn(environment, 'docker_image')),
    hasVerifierImage: Boolean(keyIn(keyIn(verifier, 'environment'), 'docker_image')),
  }
}

function keyIn(table: unknown, key: string): unknown {
  const isHere = typeof table === 'object' && table !== null && Object.hasOwn(table, key)
  return isHere ? (table as Record<string, unknown>)[key] : undefined
}
