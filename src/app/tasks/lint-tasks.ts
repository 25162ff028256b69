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
  for (const task of tasks)
    reports.push({ task: task.name, dir: task.dir, findings: await lintTask(task, await loadTaskFiles(task)) })
  return reports.sort((a, b) => (a.dir < b.dir ? -1 : 1))
}
