import type { TaskFacts } from './task-facts.ts'

/** A task of a set, identified by its key. */
export interface SetTask extends TaskFacts {
  readonly key: string
}

/** A folder or pack of tasks. Read in the background; tasks read so far can already be queried. */
export interface TaskSet {
  readonly name: string
  readonly path: string
  readonly tasks: readonly SetTask[]
  readonly broken: readonly { readonly name: string; readonly why: string }[]
  readonly complete: boolean
  /** Reads what is new, waiting at most `waitMs`. */
  refresh(waitMs: number): Promise<void>
  /** A directory with a task's files. */
  dirOf(task: SetTask): Promise<string>
  close(): Promise<void>
}

/** Waits for work, but at most `waitMs`. */
export async function waitFor(work: Promise<unknown>, waitMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waitMs)
  })
  await Promise.race([work, timeout])
  clearTimeout(timer)
}
