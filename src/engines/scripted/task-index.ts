import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { instructionFile, stepDir } from '../../core/task-paths.ts'
import { findTasks } from '../../formats/harbor-task/find.ts'
import { readTaskText, stripCanary } from '../../formats/harbor-task/read.ts'

/** A task, or one of its steps, that can be recognised by its instruction. */
export interface KnownTask {
  /** The directory's name; for a step, followed by a slash and the step's name. */
  readonly name: string
  readonly taskDir: string
  /** Where the solution is: the task's directory, or the step's. */
  readonly dir: string
  readonly instruction: string
}

export interface TaskIndex {
  readonly size: number
  /** The task whose instruction appears in a text; the longest if there are several. */
  find(text: string): KnownTask | null
}

/** Reads the instructions of all tasks in some folders once. */
export async function loadTaskIndex(folders: readonly string[]): Promise<TaskIndex> {
  const tasks: KnownTask[] = []
  for (const folder of folders) {
    const found = await findTasks(folder, { allowNoTests: true })
    for (const dir of found.tasks) tasks.push(...(await readTask(dir)))
  }
  return makeTaskIndex(tasks)
}

async function readTask(taskDir: string): Promise<KnownTask[]> {
  const steps = await readdir(join(taskDir, 'steps')).catch(() => [])
  const dirs = [taskDir, ...steps.sort().map((step) => stepDir(taskDir, step))]
  const read = dirs.map(async (dir) => {
    const text = await readTaskText(taskDir, instructionFile(dir))
    const name = dir === taskDir ? basename(taskDir) : `${basename(taskDir)}/${basename(dir)}`
    return text === null ? [] : [{ name, taskDir, dir, instruction: plain(stripCanary(text)) }]
  })
  return (await Promise.all(read)).flat().filter(({ instruction }) => instruction !== '')
}

/**
 * Finds instructions by the digest of their first line, so that a prompt is searched line by line and not task by task;
 * an instruction that does not begin on a line of its own in the prompt is searched for as a whole.
 */
export function makeTaskIndex(tasks: readonly KnownTask[]): TaskIndex {
  const byFirstLine = new Map<string, KnownTask[]>()
  for (const task of tasks) {
    const key = digest(task.instruction.split('\n', 1)[0] ?? '')
    byFirstLine.set(key, [...(byFirstLine.get(key) ?? []), task])
  }
  return {
    size: tasks.length,
    find(prompt) {
      const text = plain(prompt)
      const quick = longest(startsOfLines(text).flatMap((at) => tasksAt(byFirstLine, text, at)))
      return quick ?? longest(tasks.filter(({ instruction }) => text.includes(instruction)))
    },
  }
}

function startsOfLines(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

function tasksAt(byFirstLine: ReadonlyMap<string, readonly KnownTask[]>, text: string, at: number): KnownTask[] {
  const end = text.indexOf('\n', at)
  const line = text.slice(at, end < 0 ? undefined : end).trimEnd()
  const candidates = line === '' ? [] : (byFirstLine.get(digest(line)) ?? [])
  return candidates.filter(({ instruction }) => text.startsWith(instruction, at))
}

function longest(tasks: readonly KnownTask[]): KnownTask | null {
  return tasks.reduce<KnownTask | null>(
    (best, task) => (best && best.instruction.length >= task.instruction.length ? best : task),
    null,
  )
}

/** Agents may convert line ends and lose blanks at the end of a text or of its lines. */
function plain(text: string): string {
  const lines = text.split('\n').map((line) => line.trimEnd())
  return lines.join('\n').trim()
}

function digest(line: string): string {
  return createHash('sha1').update(line).digest('base64')
}
