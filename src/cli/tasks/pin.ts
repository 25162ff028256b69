import { Command } from '@commander-js/extra-typings'
import { withJudge } from '../../app/flags/model-options.ts'
import { passEnvFlag, several, wholeNumber } from '../../app/flags/values.ts'
import { parsedAssignments } from '../../app/job/assignments.ts'
import { judgeSettingsOf } from '../../app/job/model-flags.ts'
import type { PinReport } from '../../app/pin/pin-task.ts'
import { pinTasks } from '../../app/pin/pin-tasks.ts'
import { UserError } from '../../core/errors.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson, printTable } from '../output.ts'
import { confirmAtTerminal } from '../run/confirm.ts'

/** `ot-agent tasks pin`: pins exact versions of what a task's Dockerfile installs. */
export default () =>
  withJudge(
    new Command()
      .description(
        'Pins what the Dockerfiles of tasks install (apt, pip, npm -g) to the versions that a build installs now, and FROM to ' +
          'the digest of its image where the sandbox knows it. Changes nothing else.\n' +
          'Each task must pass `tasks check` before and after; a task that would not is left unchanged.\n' +
          'Exits with 3 when a task was refused, or would not pass once pinned.',
      )
      .argument('<paths...>', 'tasks, or folders of tasks')
      .option('--in-place', 'change the tasks themselves')
      .option('-o, --out <dir>', 'write copies of the tasks to this folder instead, each under its own name')
      .option('--dry-run', 'build, print what would be pinned, check and write nothing')
      .option('--no-check', 'only build before and after, without running tasks check')
      .option('-n, --n-concurrent <n>', 'tasks to pin at the same time', wholeNumber(1), 4)
      .option('-e, --environment <sandbox>', 'kind of sandbox', 'local')
      .option('--ek, --environment-kwarg <key=value>', 'option of the sandbox; repeatable', several, [] as string[])
      .option(...passEnvFlag)
      .option('--trust-stand-in', 'use the versions of a base image that stands in for the one in FROM')
      .option('--json', 'print the result as JSON'),
  ).action(async (paths, { check, dryRun = false, trustStandIn = false, passEnv = [], ...options }) => {
    const sandbox = { name: options.environment, options: parsedAssignments('--ek', options.environmentKwarg) }
    const asked = { paths, out: targetOf({ ...options, dryRun }), check, dryRun, trustStandIn, sandbox, passEnv }
    const interrupt = interruptSignal()
    const run = pinTasks(
      { ...asked, concurrency: options.nConcurrent, judge: judgeSettingsOf(options) },
      { signal: interrupt.signal, confirm: confirmAtTerminal() },
    )
    try {
      for await (const event of run)
        note(event.kind === 'note' ? event.text : progressLine(event.report, event.done, event.total))
    } finally {
      interrupt.stop()
    }
    const reports = await run
    if (options.json) printJson({ schema: 'tasks-pin/1', ...count(reports), tasks: reports })
    else printPins(reports)
    if (reports.some(({ status }) => status === 'refused' || status === 'kept')) process.exitCode = 3
  })

interface Target {
  readonly inPlace?: true | undefined
  readonly out?: string | undefined
  readonly dryRun: boolean
}

/** The folder for copies, or null to change the tasks themselves. */
function targetOf({ inPlace, out, dryRun }: Target): string | null {
  const asked = [inPlace && '--in-place', out !== undefined && '--out', dryRun && '--dry-run'].filter(Boolean)
  if (asked.length === 0)
    throw new UserError(
      'expected --in-place, --out DIR or --dry-run, got none',
      'choose one of them: tasks change only on request',
    )
  if (inPlace && out !== undefined)
    throw new UserError('expected --in-place or --out, got both', 'use only one of them')
  return out ?? null
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

/** Prints a row for everything pinned or left alone, then how each task ended. */
function printPins(reports: readonly PinReport[]): void {
  const rows = reports.flatMap(rowsOf)
  if (rows.length > 0) {
    printTable(['task', 'line', 'kind', 'from', 'to'], rows)
    process.stdout.write('\n')
  }
  printTable(
    ['task', 'result', 'pinned', 'left', 'reason'],
    reports.map(({ task, status, pins, left, reason }) => [
      task,
      status,
      String(pins.length),
      String(left.length),
      reason ?? '',
    ]),
  )
}

function rowsOf({ task, status, pins, left }: PinReport): string[][] {
  const undone = status === 'kept' || status === 'refused'
  const rows = [
    ...pins.map(({ manager, line, from, to }) => ({ line, manager, from, to: undone ? `not ${to}` : to })),
    ...left.map(({ manager, line, written, why }) => ({ line, manager, from: written, to: `left: ${why}` })),
  ]
  return rows
    .sort((a, b) => a.line - b.line)
    .map(({ line, manager, from, to }) => [task, String(line), manager, from, to])
}
