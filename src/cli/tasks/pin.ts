import { basename, join, resolve } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { withSpine } from '../../app/check/spine.ts'
import { withJudge } from '../../app/flags/model-options.ts'
import { wholeNumber } from '../../app/flags/values.ts'
import { parsedAssignments } from '../../app/job/assignments.ts'
import { type JudgeOptions, judgeSettingsOf } from '../../app/job/model-flags.ts'
import { UserError } from '../../core/errors.ts'
import type { Task } from '../../core/task.ts'
import { findTasks } from '../../formats/harbor-task/find.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import { exists } from '../../lib/files.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { confirmAtTerminal } from '../run/confirm.ts'
import { brokenReport, type PinReport, pinTask } from './pin/pin-task.ts'
import { printPins } from './pin/table.ts'

/** `ot-agent tasks pin`: exact versions for what a task's Dockerfile installs. */
export default () =>
  withJudge(
    new Command()
      .description(
        'Gives what Dockerfiles of tasks install (apt, pip, npm -g) the exact versions that are there once they are built, and FROM the digest of its image where the sandbox knows it. Only those words change.\n' +
          'Each task has to hold before, as `tasks check` says, and after; one that would not stays as it was.\n' +
          'Ends with exit code 3 when a task was refused, or would not hold pinned.',
      )
      .argument('<paths...>', 'tasks, or folders of tasks')
      .option('--in-place', 'change the tasks themselves')
      .option('-o, --out <dir>', 'write copies of the tasks into this folder instead, each under its own name')
      .option('--dry-run', 'build, tell what would be pinned, check and write nothing')
      .option('--no-check', 'only build before and after, without proving that the tasks hold')
      .option('-n, --n-concurrent <n>', 'tasks pinned at once', wholeNumber(1), 4)
      .option('-e, --environment <sandbox>', 'kind of sandbox', 'local')
      .option('--ek, --environment-kwarg <key=value>', 'option of the sandbox; repeatable', collect, [])
      .option(
        '--pass-env <name>',
        'pass this environment variable of yours to tasks that ask for it; repeatable',
        collect,
        [],
      )
      .option('--trust-stand-in', 'take versions from a base that only stands in for the one that FROM names')
      .option('--json', 'print the result as JSON'),
  ).action(async (paths, options) => {
    const out = targetOf(options)
    const { tasks, broken } = await loadAll(paths)
    const targets = tasks.map(({ dir }) => (out === null ? null : join(out, basename(dir))))
    await refuseTaken(targets)
    const reports = [...broken, ...(await pinAll(tasks, targets, options))]
    if (options.json) printJson({ schema: 'tasks-pin/1', ...count(reports), tasks: reports })
    else printPins(reports)
    if (reports.some(({ status }) => status === 'refused' || status === 'kept')) process.exitCode = 3
  })

interface Target {
  readonly inPlace?: true | undefined
  readonly out?: string | undefined
  readonly dryRun?: true | undefined
}

/** The folder for copies, or null for the tasks themselves. */
function targetOf({ inPlace, out, dryRun }: Target): string | null {
  const asked = [inPlace && '--in-place', out !== undefined && '--out', dryRun && '--dry-run'].filter(Boolean)
  if (asked.length === 0)
    throw new UserError('expected --in-place, --out DIR or --dry-run, got none', 'tasks change only when you say so')
  if (inPlace && out !== undefined)
    throw new UserError('expected --in-place or --out, got both', 'leave one of them out')
  return out === undefined ? null : resolve(out)
}

/** Reads every task once, in the order of the paths; one that cannot be read becomes a refused row. */
async function loadAll(paths: readonly string[]): Promise<{ tasks: Task[]; broken: PinReport[] }> {
  const tasks = new Map<string, Task>()
  const broken: PinReport[] = []
  for (const path of paths) {
    const found = await findTasks(path, { allowNoTests: true })
    broken.push(...found.broken.map(({ dir, reason }) => brokenReport(dir, basename(dir), reason)))
    for (const dir of found.tasks) {
      try {
        tasks.set(dir, await loadTask(dir, { allowNoTests: true }))
      } catch (error) {
        if (!(error instanceof UserError)) throw error
        broken.push(brokenReport(dir, basename(dir), error.message))
      }
    }
  }
  return { tasks: [...tasks.values()], broken }
}

/** Nothing is built when one of many targets is taken. */
async function refuseTaken(targets: readonly (string | null)[]): Promise<void> {
  const seen = new Set<string>()
  for (const target of targets) {
    if (target === null) continue
    if (seen.has(target) || (await exists(target)))
      throw new UserError(
        `${target}: expected a path that is free, found ${seen.has(target) ? 'two tasks for it' : 'something there'}`,
        'choose another --out, or move it away',
      )
    seen.add(target)
  }
}

interface Options extends Target, JudgeOptions {
  readonly check: boolean
  readonly nConcurrent: number
  readonly environment: string
  readonly environmentKwarg: readonly string[]
  readonly passEnv: readonly string[]
  readonly trustStandIn?: true | undefined
}

async function pinAll(
  tasks: readonly Task[],
  targets: readonly (string | null)[],
  options: Options,
): Promise<PinReport[]> {
  const { check, dryRun = false, trustStandIn = false, nConcurrent } = options
  const proven = check && !dryRun ? tasks : []
  const sandbox = { name: options.environment, options: parsedAssignments('--ek', options.environmentKwarg) }
  const judge = judgeSettingsOf(options)
  const interrupt = interruptSignal()
  const follower = { notify: note, signal: interrupt.signal, confirm: confirmAtTerminal() }
  const asked = { sandbox, judge, passEnv: options.passEnv, repeats: 1, lintOnly: false }
  return withSpine(proven, asked, follower, async (spine) => {
    const reports: PinReport[] = []
    const work = mapInOrder(tasks.entries(), nConcurrent, ([index, task]) => {
      const target = targets[index] ?? null
      return pinTask(task, { check, dryRun, trustStandIn, target }, spine, join(spine.workDir, String(index + 1)))
    })
    for await (const report of work) {
      reports.push(report)
      note(progressLine(report, reports.length, tasks.length))
    }
    return reports
  }).finally(interrupt.stop)
}

function progressLine({ task, status, pins, reason }: PinReport, done: number, all: number): string {
  const detail = reason ?? (pins.length > 0 ? `${pins.length} pins` : null)
  return `[${done}/${all}] ${status} ${oneLine(task)}${detail === null ? '' : `: ${oneLine(detail)}`}`
}

function count(reports: readonly PinReport[]): Record<string, number> {
  const of = (status: PinReport['status']) => reports.filter((report) => report.status === status).length
  const [pinned, wouldPin, unchanged] = [of('pinned'), of('would-pin'), of('unchanged')]
  return { pinned, wouldPin, unchanged, kept: of('kept'), refused: of('refused') }
}

function collect(value: string, all: readonly string[]): string[] {
  return [...all, value]
}
