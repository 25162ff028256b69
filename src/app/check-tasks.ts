import { mkdir, readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { UserError } from '../core/errors.ts'
import type { ModelSettings, OpinionSettings, PlugInChoice } from '../core/stage.ts'
import { orUserError } from '../formats/harbor-task/read.ts'
import { brokenTask, type TaskReport } from '../run/check/check-task.ts'
import { checkTasks as checkEach } from '../run/check/check-tasks.ts'
import { withSpine } from './check/spine.ts'
import type { Confirm } from './job/consent.ts'
import type { RunControl } from './run-tasks.ts'
import { Running } from './running.ts'
import { loadTasks } from './tasks/load-tasks.ts'

export type { TaskReport } from '../run/check/check-task.ts'

/** Which tasks to prove, and how. */
export interface CheckRequest {
  /** A task, or a folder of tasks. */
  readonly tasks: string
  /** A kind of sandbox (default: local). */
  readonly sandbox?: string | PlugInChoice | undefined
  /** Tasks at once (default: 4). */
  readonly concurrency?: number | undefined
  /** How many runs of the oracle must agree (default: 3). */
  readonly repeats?: number | undefined
  /** Starts nothing. */
  readonly lintOnly?: boolean | undefined
  /** After the lints, only checks that the environments start; runs no agents or tests. */
  readonly startOnly?: boolean | undefined
  /** How often to repeat a start that failed for a reason outside the task (default: 0). */
  readonly retries?: number | undefined
  /** Keeps the trials of rejected and undecided tasks in this new or empty folder. */
  readonly keep?: string | undefined
  readonly passEnv?: readonly string[] | undefined
  readonly judge?: ModelSettings | undefined
  /** The models for a second opinion on tasks that pass every other check (default: none). */
  readonly opinion?: OpinionSettings | undefined
}

export type CheckEvent =
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'task'; readonly report: TaskReport; readonly done: number; readonly total: number }

/** Proves that tasks are sound, like `ot-agent tasks check`; reports are in the order of the tasks' folders. */
export function checkTasks(
  request: CheckRequest,
  control: RunControl & { readonly confirm?: Confirm | undefined } = {},
): Running<CheckEvent, readonly TaskReport[]> {
  return new Running(async (emit) => {
    const { sandbox = 'local', keep, repeats = 3, lintOnly = false, concurrency = 4, ...rest } = request
    const { tasks, broken: unreadable } = await loadTasks([request.tasks])
    const broken = unreadable.map(({ dir, name, reason }) => brokenTask(dir, name, reason))
    const total = tasks.length + broken.length
    let done = 0
    const onReport = (report: TaskReport) => emit({ kind: 'task', report, done: ++done, total })
    for (const report of broken) onReport(report)
    const options = {
      ...rest,
      ...{ repeats, lintOnly },
      sandbox: typeof sandbox === 'string' ? { name: sandbox } : sandbox,
      keepIn: keep === undefined ? undefined : () => emptyDir(keep),
    }
    const notify = (text: string) => emit({ kind: 'note', text })
    const signal = control.signal ?? new AbortController().signal
    const checked = await withSpine(tasks, options, { notify, signal, confirm: control.confirm }, (spine) =>
      checkEach(tasks, { ...spine, concurrency, keep: keep !== undefined, onReport }),
    )
    return [...broken, ...checked].sort((a, b) => (a.dir < b.dir ? -1 : 1))
  })
}

/** Requires an empty folder, because old trials among the new ones would mislead. */
async function emptyDir(path: string): Promise<string> {
  const dir = resolve(path)
  const names = await orUserError(dir, async () => {
    await mkdir(dir, { recursive: true })
    return readdir(dir)
  })
  if (names.length === 0) return dir
  throw new UserError(
    `--keep: expected a new or empty folder, but ${path} contains ${names.length} entries`,
    'choose another folder',
  )
}
