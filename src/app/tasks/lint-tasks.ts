import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Task } from '../../core/task.ts'
import { taskFileName } from '../../core/task-paths.ts'
import { parseToml } from '../../formats/harbor-task/parse.ts'
import { taskTomlSchema } from '../../formats/harbor-task/schema.ts'
import { keyHint, unknownKeys } from '../../formats/strict-config.ts'
import { brokenTask } from '../../run/check/check-task.ts'
import type { Finding } from '../../run/check/finding.ts'
import { lintTask } from '../../run/check/lints.ts'
import { loadTaskFiles } from '../../run/check/task-files.ts'
import { loadTasks } from './load-tasks.ts'

/** What the lints found in one task. */
export interface LintReport {
  readonly task: string
  readonly dir: string
  readonly findings: readonly Finding[]
}

/** Lints tasks, or folders of tasks, without running anything; reports are in the order of the folders. */
export async function lintTasks(paths: readonly string[]): Promise<LintReport[]> {
  const { tasks, broken } = await loadTasks(paths)
  const reports: LintReport[] = broken.map(({ dir, name, reason }) => {
    const { task, findings } = brokenTask(dir, name, reason)
    return { task, dir, findings }
  })
  for (const task of tasks) reports.push({ task: task.name, dir: task.dir, findings: await findingsIn(task) })
  return reports.sort((a, b) => (a.dir < b.dir ? -1 : 1))
}

async function findingsIn(task: Task): Promise<Finding[]> {
  return [...(await lintTask(task, await loadTaskFiles(task))), ...(await unknownKeysIn(task))]
}

/** A mistyped key of task.toml is ignored when the task runs, as Harbor does: its default counts. */
async function unknownKeysIn({ dir }: Task): Promise<Finding[]> {
  const document = parseToml(await readFile(join(dir, taskFileName), 'utf8'), taskFileName)
  return unknownKeys(taskTomlSchema, document).map((key) => {
    const message = `${key} is ignored: it is not a known key; ${keyHint(taskTomlSchema, key)}`
    return { lint: 'unknown-key', severity: 'warning', path: taskFileName, message }
  })
}
