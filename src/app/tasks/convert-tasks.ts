import { basename, join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { type Conversion, convertTerminalBenchTask, findTerminalBenchTasks } from '../../formats/terminal-bench.ts'
import { exists } from '../../lib/files.ts'

export interface ConvertedTasks {
  readonly converted: readonly Conversion[]
  readonly failed: readonly { readonly source: string; readonly error: UserError }[]
}

/**
 * Converts Terminal-Bench tasks, each to a folder in `out`. A task that cannot be converted leaves nothing behind; if
 * none can be, the first reason is thrown.
 */
export async function convertTasks(source: string, out: string): Promise<ConvertedTasks> {
  const tasks = await findTerminalBenchTasks(source)
  const targets = tasks.map((task) => ({ source: task, dir: join(out, basename(task)) }))
  for (const { dir } of targets) await checkFree(dir)
  const { converted, failed } = await convertAll(targets)
  const [first] = failed
  if (first && converted.length === 0) throw first.error
  return { converted, failed }
}

/** Refuses an existing target, so that nothing is written if one of many is taken. */
async function checkFree(dir: string): Promise<void> {
  if (!(await exists(dir))) return
  throw new UserError(
    `${dir}: expected a new path, but it already exists`,
    'choose another --out, or move it elsewhere',
  )
}

async function convertAll(targets: readonly { source: string; dir: string }[]) {
  const converted: Conversion[] = []
  const failed: { source: string; error: UserError }[] = []
  for (const { source, dir } of targets) {
    try {
      converted.push(await convertTerminalBenchTask(source, dir))
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      failed.push({ source, error })
    }
  }
  return { converted, failed }
}
