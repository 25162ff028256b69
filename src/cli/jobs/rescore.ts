import { Command } from '@commander-js/extra-typings'
import { withJudge } from '../../app/flags/model-options.ts'
import { wholeNumber } from '../../app/flags/values.ts'
import { judgeSettingsOf } from '../../app/job/model-flags.ts'
import { findJob } from '../../app/jobs/find-job.ts'
import { type Rescored, rescore } from '../../app/jobs/rescore.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson, printTable } from '../output.ts'
import { confirmAtTerminal } from '../run/confirm.ts'
import { hiddenValuesOf, withHiddenValues } from '../run/hidden-value-flags.ts'

/** `ot-agent jobs rescore`: reruns only the tests, on what the trials kept. */
export default () =>
  withHiddenValues(
    withJudge(
      new Command()
        .description(
          'Runs the tests of finished trials again, on the artifacts they kept, and writes the new scores. The old records are ' +
            'kept next to the new ones.\n' +
            'Works for tasks with a separate verifier; trials that cannot be rescored are listed with the reason.',
        )
        .argument('<job>', 'a job directory, or the name of a job in --jobs-dir')
        .option('-o, --jobs-dir <dir>', 'where to look up a name without a path', 'jobs')
        .option(
          '--artifacts-suffice',
          "also rescore trials whose tests share the agent's sandbox; use it if those tests read only declared artifacts",
        )
        .option('-n, --n-concurrent <n>', 'trials to run at the same time', wholeNumber(1), 4)
        .option('--json', 'print the result as JSON'),
    ),
  ).action(async (given, { jobsDir, artifactsSuffice = false, nConcurrent, json = false, ...options }) => {
    const { dir: path } = await findJob(given, jobsDir)
    const request = { job: path, artifactsSuffice, concurrency: nConcurrent, judge: judgeSettingsOf(options) }
    const interrupt = interruptSignal()
    const control = { notify: note, signal: interrupt.signal, confirm: confirmAtTerminal() }
    const rows = await rescore({ ...request, hidden: hiddenValuesOf(options) }, control).finally(interrupt.stop)
    if (json) printJson({ schema: 'rescore/1', job: path, trials: Object.fromEntries(rows) })
    else
      printTable(
        ['trial', 'before', 'after'],
        [...rows].sort().map(([name, row]) => [name, ...cellsOf(row)]),
      )
    note(`${[...rows.values()].filter(({ kind }) => kind === 'rescored').length} of ${rows.size} trials were rescored`)
    if ([...rows.values()].some(({ kind }) => kind === 'failed')) process.exitCode = 3
  })

function cellsOf(row: Rescored): string[] {
  if (row.kind === 'rescored') return [JSON.stringify(row.before), JSON.stringify(row.after)]
  return ['', `${row.kind === 'failed' ? 'failed' : 'cannot be rescored'}: ${row.reason}`]
}
