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

/** `ot-agent jobs rescore`: the tests alone, on what the trials kept. */
export default () =>
  withHiddenValues(
    withJudge(
      new Command()
        .description(
          'Runs the tests of finished trials again, on the artefacts they kept, and writes the new scores; the old records are kept aside.\n' +
            'Works for tasks whose verifier is separate; trials that cannot be scored again are listed with the reason.',
        )
        .argument('<job>', "the job's directory, or its name among the jobs of --jobs-dir")
        .option('-o, --jobs-dir <dir>', 'where a bare name is looked up', 'jobs')
        .option(
          '--artifacts-suffice',
          "also trials whose tests share the agent's sandbox: you know that they look only at declared artefacts",
        )
        .option('-n, --n-concurrent <n>', 'trials at once', wholeNumber(1), 4)
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
    note(
      `${[...rows.values()].filter(({ kind }) => kind === 'rescored').length} of ${rows.size} trials were scored again`,
    )
    if ([...rows.values()].some(({ kind }) => kind === 'failed')) process.exitCode = 3
  })

function cellsOf(row: Rescored): string[] {
  if (row.kind === 'rescored') return [JSON.stringify(row.before), JSON.stringify(row.after)]
  return ['', `${row.kind === 'failed' ? 'failed' : 'not rescorable'}: ${row.reason}`]
}
