import { basename, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { ModelSettings, PlugInChoice } from '../../core/stage.ts'
import { exists } from '../../lib/files.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { withSpine } from '../check/spine.ts'
import type { Confirm } from '../job/consent.ts'
import type { RunControl } from '../run-tasks.ts'
import { Running } from '../running.ts'
import { loadTasks } from '../tasks/load-tasks.ts'
import { brokenReport, type PinReport, pinTask } from './pin-task.ts'

export interface PinRequest {
  /** Tasks or folders of tasks. */
  readonly paths: readonly string[]
  /** Folder for copies; null changes the tasks themselves. */
  readonly out: string | null
  /** Builds and reports what would be pinned; checks and writes nothing. */
  readonly dryRun: boolean
  /** Whether each task must hold before and after. */
  readonly check: boolean
  /** Takes versions from a stand-in for the task's base image. */
  readonly trustStandIn: boolean
  /** Concurrent tasks. */
  readonly concurrency: number
  readonly sandbox: PlugInChoice
  readonly judge?: ModelSettings | undefined
  readonly passEnv: readonly string[]
}

export type PinEvent =
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'task'; readonly report: PinReport; readonly done: number; readonly total: number }

/** Pins what tasks install to exact versions; the reports start with the folders that are no tasks. */
export function pinTasks(
  request: PinRequest,
  control: RunControl & { readonly confirm?: Confirm | undefined } = {},
): Running<PinEvent, readonly PinReport[]> {
  return new Running(async (emit) => {
    const { out, dryRun, check, trustStandIn, concurrency, sandbox, judge, passEnv } = request
    const { tasks, broken: unreadable } = await loadTasks(request.paths)
    const broken = unreadable.map(({ dir, name, reason }) => brokenReport(dir, name, reason))
    const targets = tasks.map(({ dir }) => (out === null ? null : join(resolve(out), basename(dir))))
    await refuseTaken(targets)
    const asked = { sandbox, judge, passEnv, repeats: 1, lintOnly: false, verifies: check && !dryRun }
    const notify = (text: string) => emit({ kind: 'note', text })
    const signal = control.signal ?? new AbortController().signal
    return withSpine(tasks, asked, { notify, signal, confirm: control.confirm }, async (spine) => {
      const reports: PinReport[] = []
      const work = mapInOrder(tasks.entries(), concurrency, ([index, task]) => {
        const target = targets[index] ?? null
        return pinTask(task, { check, dryRun, trustStandIn, target }, spine, join(spine.workDir, String(index + 1)))
      })
      for await (const report of work) {
        reports.push(report)
        emit({ kind: 'task', report, done: reports.length, total: tasks.length })
      }
      return [...broken, ...reports]
    })
  })
}

/** Refuses to start if any target already exists, so that nothing is built in vain. */
async function refuseTaken(targets: readonly (string | null)[]): Promise<void> {
  const seen = new Set<string>()
  for (const target of targets) {
    if (target === null) continue
    if (seen.has(target) || (await exists(target)))
      throw new UserError(
        `${target}: expected a new path, but ${seen.has(target) ? 'two tasks would use it' : 'it already exists'}`,
        'choose another --out, or move it elsewhere',
      )
    seen.add(target)
  }
}
