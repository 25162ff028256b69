import type { TaskFacts } from './task-facts.ts'

/** A task of a set; its key names it there. */
export interface SetTask extends TaskFacts {
  readonly key: string
}

/** A folder or a pack of tasks. Reads it in the background; what was read can be asked for meanwhile. */
export interface TaskSet {
  readonly name: string
  readonly path: string
  readonly tasks: readonly SetTask[]
  readonly broken: readonly { readonly name: string; readonly why: string }[]
  readonly complete: boolean
  /** Reads what is new, and waits for it no longer than `waitMs`. */
  refresh(waitMs: number): Promise<void>
  /** A directory with the files of a task. */
  dirOf(task: SetTask): Promise<string>
  close(): Promise<void>
}

/** Waits for work no longer than `waitMs`. */
export async function waitFor(work: Promise<unknown>, waitMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waitMs)
  })
  await Promise.race([work, timeout])
  clearTimeout(timer)
}
