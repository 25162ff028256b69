import { mkdir, readdir } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { Command, Option } from '@commander-js/extra-typings'
import { UserError } from '../../core/errors.ts'
import type { Task } from '../../core/task.ts'
import { findTasks } from '../../formats/harbor-task/find.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import { orUserError } from '../../formats/harbor-task/read.ts'
import { brokenTask, type TaskReport } from '../../run/check/check-task.ts'
import { checkTasks } from '../../run/check/check-tasks.ts'
import { note, printJson, wholeNumber } from '../output.ts'
import { type JudgeOptions, withJudge } from '../run/judging.ts'
import { firstReason, oneLine, printReports } from './check-table.ts'
import { withSpine } from './spine.ts'

/** `ot-agent tasks check`: the verification spine. */
export default () =>
  withJudge(
    new Command()
      .description(
        'Proves that tasks are sound: lints, the environment starts, the oracle scores 1 each time, doing nothing scores less, and forging the reward does not pay.\n' +
          'Ends with exit code 3 when a task is rejected, or when something could not be found out.',
      )
      .argument('<path>', 'a task, or a folder of tasks')
      .option('-n, --n-concurrent <n>', 'tasks checked at once', wholeNumber(1), 4)
      .option('--repeats <n>', 'number of oracle runs that have to agree', wholeNumber(1), 3)
      .option('-e, --environment <sandbox>', 'kind of sandbox', 'local')
      .option('--ek, --environment-kwarg <key=value>', 'option of the sandbox; repeatable', collect, [])
      .addOption(new Option('--only <part>', 'only lints, which start nothing').choices(['lint'] as const))
      .option(
        '--pass-env <name>',
        'pass this environment variable of yours to tasks that ask for it; repeatable',
        collect,
        [],
      )
      .option('--keep <dir>', 'keep the trials of tasks that are not accepted in this folder')
      .option('--json', 'print the result as JSON'),
  ).action(async (path, options) => {
    const { tasks, broken } = await loadTasks(path)
    const reports = [...broken, ...(await check(tasks, options))].sort((a, b) => (a.dir < b.dir ? -1 : 1))
    if (options.json)
      printJson({ schema: 'tasks-check/1', only: options.only ?? null, ...count(reports), tasks: reports })
    else printReports(reports)
    if (reports.some(({ verdict }) => verdict !== 'accepted')) process.exitCode = 3
  })

interface CheckOptions extends JudgeOptions {
  readonly nConcurrent: number
  readonly repeats: number
  readonly environment: string
  readonly environmentKwarg: readonly string[]
  readonly passEnv: readonly string[]
  readonly only?: 'lint' | undefined
  readonly keep?: string | undefined
}

async function check(tasks: readonly Task[], options: CheckOptions): Promise<TaskReport[]> {
  const { keep } = options
  const keepIn = keep === undefined ? undefined : () => emptyDir(keep)
  const spineOptions = { ...options, lintOnly: options.only === 'lint', keepIn }
  return withSpine(tasks, spineOptions, (spine) => {
    let done = 0
    return checkTasks(tasks, {
      ...spine,
      concurrency: options.nConcurrent,
      keep: keep !== undefined,
      onReport: (report) => note(progressLine(report, ++done, tasks.length)),
    })
  })
}

/** Reads every task; one that cannot be read becomes a rejected row, so that the others are still checked. */
async function loadTasks(path: string): Promise<{ tasks: Task[]; broken: TaskReport[] }> {
  const found = await findTasks(path, { allowNoTests: true })
  const broken = found.broken.map(({ dir, reason }) => brokenTask(dir, basename(dir), reason))
  const tasks: Task[] = []
  for (const dir of found.tasks) {
    try {
      tasks.push(await loadTask(dir, { allowNoTests: true }))
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      broken.push(brokenTask(dir, basename(dir), error.message))
    }
  }
  for (const report of broken) note(`rejected ${oneLine(report.task)}: ${firstReason(report)}`)
  return { tasks, broken }
}

/** Old trials among the new ones would mislead. */
async function emptyDir(path: string): Promise<string> {
  const dir = resolve(path)
  const names = await orUserError(dir, async () => {
    await mkdir(dir, { recursive: true })
    return readdir(dir)
  })
  if (names.length === 0) return dir
  throw new UserError(
    `--keep: expected a new or empty folder, ${path} holds ${names.length} things`,
    'name another folder',
  )
}

function progressLine(report: TaskReport, done: number, all: number): string {
  const reason = report.verdict === 'accepted' ? '' : `: ${firstReason(report)}`
  return `[${done}/${all}] ${report.verdict} ${oneLine(report.task)}${reason}`
}

function count(reports: readonly TaskReport[]): Record<string, number> {
  const of = (verdict: TaskReport['verdict']) => reports.filter((report) => report.verdict === verdict).length
  return { accepted: of('accepted'), rejected: of('rejected'), unknown: of('unknown') }
}

function collect(value: string, all: readonly string[]): string[] {
  return [...all, value]
}
