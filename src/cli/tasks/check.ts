import { Command, Option } from '@commander-js/extra-typings'
import {
  checkColumns,
  evidenceOf,
  firstReason,
  outcomesOf,
  reasonsOf,
  warningsOf,
  yieldsOf,
} from '../../app/check/reasons.ts'
import { checkTasks, type TaskReport } from '../../app/check-tasks.ts'
import { withJudge } from '../../app/flags/model-options.ts'
import { passEnvFlag, several, wholeNumber } from '../../app/flags/values.ts'
import { parsedAssignments } from '../../app/job/assignments.ts'
import { judgeSettingsOf, opinionSettingsOf } from '../../app/job/model-flags.ts'
import { UserError } from '../../core/errors.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson, printTable } from '../output.ts'
import { confirmAtTerminal } from '../run/confirm.ts'

/** `ot-agent tasks check`: the verification spine. */
export default () =>
  withJudge(
    new Command()
      .description(
        'Proves that tasks are sound: lints pass, the environment starts, the oracle scores 1 every time, doing nothing scores ' +
          'less, and forging the reward does not work.\n' +
          'The solution must run without errors and produce what the instruction asks for, and shallow solutions, such as an ' +
          'empty file or a function that returns nothing, must not score 1.\n' +
          'Exits with 3 when a task is rejected, or when a check could not be completed.',
      )
      .argument('<path>', 'a task, or a folder of tasks')
      .option('-n, --n-concurrent <n>', 'tasks to check at the same time', wholeNumber(1), 4)
      .option('--repeats <n>', 'number of oracle runs that must agree', wholeNumber(1), 3)
      .addOption(
        new Option('--only <check>', 'start: only lint, and check that environments start').choices(['start'] as const),
      )
      .option(
        '--retries <n>',
        'how many times to retry a start that failed for a reason outside the task',
        wholeNumber(0),
        0,
      )
      .option('-e, --environment <sandbox>', 'kind of sandbox', 'local')
      .option('--ek, --environment-kwarg <key=value>', 'option of the sandbox; repeatable', several, [] as string[])
      .option(...passEnvFlag)
      .option('--explain', 'show the part of the task, or of its output, that each failed check is about')
      .option(
        '--second-opinion <model>',
        'let this model attempt each task that passes, seeing only the instruction, and have the attempts reviewed',
      )
      .option('--opinion-tries <n>', 'attempts at each task (default: 1)', wholeNumber(1))
      .option('--opinion-agent <name>', 'agent to run it in (default: terminus-2)')
      .option('--opinion-reviewer <model>', 'model that reviews, at the same address (default: the same model)')
      .option('--opinion-api-base <url>', 'address of the model server')
      .option('--opinion-api-key-env <name>', 'environment variable with its API key')
      .option('--opinion-engine-kwarg <key=value>', 'option of its engine, for example its prices; repeatable', several)
      .option('--keep <dir>', 'keep the trials of rejected and unfinished tasks in this folder')
      .option('--json', 'print the result as JSON'),
  ).action(async (path, options) => {
    const sandbox = { name: options.environment, options: parsedAssignments('--ek', options.environmentKwarg) }
    const { repeats, retries, keep, passEnv, nConcurrent: concurrency } = options
    const startOnly = options.only === 'start'
    if (startOnly && options.secondOpinion !== undefined)
      throw new UserError('--second-opinion cannot be used with --only start', 'use only one of them')
    const asked = { tasks: path, sandbox, repeats, retries, startOnly, keep, passEnv, concurrency }
    const interrupt = interruptSignal()
    const control = { signal: interrupt.signal, confirm: confirmAtTerminal() }
    const run = checkTasks({ ...asked, judge: judgeSettingsOf(options), opinion: opinionSettingsOf(options) }, control)
    try {
      for await (const event of run)
        note(event.kind === 'note' ? event.text : progressLine(event.report, event.done, event.total))
    } finally {
      interrupt.stop()
    }
    const reports = await run
    if (options.json)
      printJson({ schema: 'tasks-check/1', ...count(reports), checks: yieldsOf(reports), tasks: reports })
    else printReports(reports, options.explain === true)
    if (reports.some(({ verdict }) => verdict !== 'accepted')) process.exitCode = 3
  })

function progressLine(report: TaskReport, done: number, all: number): string {
  const reason = report.verdict === 'accepted' ? '' : `: ${firstReason(report)}`
  return `[${done}/${all}] ${report.verdict} ${oneLine(report.task)}${reason}`
}

function count(reports: readonly TaskReport[]): Record<string, number> {
  const of = (verdict: TaskReport['verdict']) => reports.filter((report) => report.verdict === verdict).length
  return { accepted: of('accepted'), rejected: of('rejected'), unknown: of('unknown') }
}

/** Prints a row per task, then whatever did not fit into the rows. */
function printReports(reports: readonly TaskReport[], explain: boolean): void {
  printTable(['task', 'verdict', ...checkColumns, 'reason'], reports.map(row))
  for (const report of reports) {
    const warnings = warningsOf(report).map((warning) => `warning: ${warning}`)
    const more = [...(explain ? evidenceOf(report) : reasonsOf(report).slice(1)), ...warnings]
    if (more.length > 0)
      process.stdout.write(`\n${oneLine(report.task)}\n${more.map((line) => `  ${oneLine(line)}\n`).join('')}`)
  }
  if (reports.length > 1) printYields(reports)
  const notes = new Set(reports.flatMap((report) => report.notes))
  if (notes.size > 0) process.stdout.write(`\n${[...notes].map((line) => `note: ${oneLine(line)}\n`).join('')}`)
}

/** Prints the outcomes of each check over all tasks. */
function printYields(reports: readonly TaskReport[]): void {
  process.stdout.write('\n')
  const made = yieldsOf(reports).filter(({ skipped }) => skipped < reports.length)
  printTable(
    ['check', 'ok', 'failed', 'unknown', 'not made'],
    made.map(({ name, ...counts }) => [
      ...[name, counts.ok, counts.fail, counts.unknown, counts.skipped].map((cell) => String(cell)),
    ]),
  )
}

const marks = { ok: 'ok', fail: 'FAIL', unknown: '?', skipped: '-' } as const

function row(report: TaskReport): string[] {
  const reason = firstReason(report)
  return [
    ...[oneLine(report.task), report.verdict, ...outcomesOf(report).map(({ outcome }) => marks[outcome])],
    reason.length > 100 ? `${reason.slice(0, 99)}…` : reason,
  ]
}
