import type { Task } from '../../core/task.ts'
import type { TaskFiles } from './task-files.ts'

/** An error rejects the task; a warning is only reported. */
export type Severity = 'error' | 'warning'

/** One thing a lint found wrong with a task. */
export interface Finding {
  readonly lint: string
  readonly severity: Severity
  /** Relative to the task's directory; empty when it concerns the whole task. */
  readonly path: string
  readonly message: string
}

/** A static check: it reads a task's files and runs nothing. */
export type Lint = (files: TaskFiles, task: Task) => readonly Finding[] | Promise<readonly Finding[]>
