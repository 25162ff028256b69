import type { Task } from '../../core/task.ts'
import type { TaskFiles } from './task-files.ts'

/** An error rejects the task; a warning is only told. */
export type Severity = 'error' | 'warning'

/** One thing a lint found wrong with a task. */
export interface Finding {
  readonly lint: string
  readonly severity: Severity
  /** Relative to the task's directory; empty when it is about the task as a whole. */
  readonly path: string
  readonly message: string
}

/** A static check: looks at a task's files, runs nothing of the task. */
export type Lint = (files: TaskFiles, task: Task) => readonly Finding[] | Promise<readonly Finding[]>
