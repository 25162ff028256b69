import { setMaxListeners } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Task } from '../../core/task.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import type { CheckRequest } from './check-request.ts'
import { checkTask, type TaskReport } from './check-task.ts'

export interface ChecksRequest extends CheckRequest {
  /** How many tasks are checked at once. */
  readonly concurrency: number
  /** Where trials write their files. */
  readonly workDir: string
  /** Keep the files of tasks that were not accepted. */
  readonly keep: boolean
  /** Called with every report as it arrives. */
  readonly onReport: (report: TaskReport) => void
}

/** Checks tasks with limited concurrency and returns reports in task order. A bug or an abort stops them all. */
export async function checkTasks(tasks: readonly Task[], request: ChecksRequest): Promise<TaskReport[]> {
  const stop = new AbortController()
  const signal = AbortSignal.any([request.signal, stop.signal])
  setMaxListeners(0, signal)
  const places = new Semaphore(request.concurrency)
  const running = tasks.map(async (task, index) => {
    try {
      const workDir = join(request.workDir, dirName(task, index))
      return await places.run(signal, () => checkOne(task, { ...request, signal }, workDir))
    } catch (error) {
      stop.abort(error)
      throw error
    }
  })
  await Promise.allSettled(running)
  request.signal.throwIfAborted()
  return Promise.all(running)
}

async function checkOne(task: Task, request: ChecksRequest, dir: string): Promise<TaskReport> {
  let kept = false
  try {
    const found = await checkTask(task, request, dir)
    kept = request.keep && found.verdict !== 'accepted'
    const report = kept ? found : { ...found, runs: found.runs.map((run) => ({ ...run, dir: null })) }
    request.onReport(report)
    return report
  } finally {
    if (!kept) await rm(dir, { recursive: true, force: true })
  }
}

/** Readable, and unique even among tasks with the same name. */
function dirName(task: Task, index: number): string {
  const name = task.name.replace(/[^a-zA-Z0-9._-]+/g, '_').slice(0, 60)
  return `${String(index + 1).padStart(4, '0')}-${name}`
}
